// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// A Rust program: store::Table::lookup asks the kernel for its parent's pid.
mod store {
    pub struct Table {
        pub hits: u64,
    }

    impl Table {
        #[inline(never)]
        pub fn lookup(&mut self, key: u64) -> u64 {
            unsafe {
                std::arch::asm!("syscall", inout("rax") 110u64 => _, out("rcx") _, out("r11") _)
            };
            self.hits += key;
            self.hits
        }
    }
}

fn main() {
    let mut table = store::Table { hits: 0 };
    table.lookup(1);
    std::process::exit((table.hits != 1) as i32);
}
