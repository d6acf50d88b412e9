// A boxed value and a vector whose addresses a debugger asks about where it stops.
use std::hint::black_box;

#[inline(never)]
fn make_box() -> Box<[u8; 999]> {
    Box::new([7u8; 999])
}

#[inline(never)]
#[no_mangle]
fn stop_here(boxed: &Box<[u8; 999]>, numbers: &Vec<u64>) -> usize {
    black_box(boxed.len() + numbers.len())
}

fn main() {
    let boxed = make_box();
    let numbers: Vec<u64> = black_box((0..250).collect());
    println!("{:p} {:p}", &*boxed, numbers.as_ptr());
    println!("{}", stop_here(&boxed, &numbers));
}
