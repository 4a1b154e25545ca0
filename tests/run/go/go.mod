module example.com/path/to/my

go 1.18
