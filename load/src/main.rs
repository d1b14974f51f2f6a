//! The program: hand the command line to the `cli` room and leave with its exit code.

fn main() -> std::process::ExitCode {
    contend_load::cli::main()
}
