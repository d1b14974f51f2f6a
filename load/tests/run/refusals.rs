//! Kernels and containers that refuse a system call: the run goes on by another way, or says so.

use super::Torn;
use super::fake::FakeServer;
use super::program::{Folder, PROGRAM, done, failure, fed, lines, of_events, plan, run, run_as};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// The program where the kernel answers one system call with an error, as filters of containers
/// do.
fn without(call: libc::c_long, errno: libc::c_int) -> Command {
    let mut program = Command::new(PROGRAM);
    let op = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let filter = [
        // The number of the call; the error where it is the one, else leave.
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        op(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            call as u32,
            0,
            1,
        ),
        op(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | errno as u32,
            0,
            0,
        ),
        op(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    // SAFETY: between fork and exec only system calls are made, on memory of the child's own.
    unsafe {
        program.pre_exec(move || {
            let list = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            let (yes, no): (libc::c_ulong, libc::c_ulong) = (1, 0);
            let refused = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) != 0
                || libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const list,
                ) != 0;
            if refused {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    program
}

fn run_without(call: libc::c_long, errno: libc::c_int, plan: &Value) -> Output {
    run_as(&mut without(call, errno), plan)
}

/// What a program says of the engine that a plan gets.
fn asked(program: &mut Command, plan: &Value) -> Output {
    fed(program.args(["engine", "-"]), &plan.to_string())
}

#[test]
fn without_io_uring_the_choice_is_epoll() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let folder = Folder::new(&format!("no-uring-{errno}"));
        let server = FakeServer::start(&folder.0, Torn(1000));
        let plan = of_events(plan(&server.socket, "auto"), 40);
        let output = run_without(libc::SYS_io_uring_setup, errno, &plan);
        assert!(done(&output)["queries"].as_u64().unwrap() > 0);
        assert_eq!(lines(&output)[0]["engine"], "epoll");
    }
}

#[test]
fn a_ring_that_cannot_have_its_buffers_is_no_ring() {
    let folder = Folder::new("no-buffers");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let plan = of_events(plan(&server.socket, "auto"), 40);
    let output = run_without(libc::SYS_io_uring_register, libc::EINVAL, &plan);
    assert!(done(&output)["queries"].as_u64().unwrap() > 0);
    assert_eq!(lines(&output)[0]["engine"], "epoll");
}

#[test]
fn io_uring_that_was_asked_for_and_refused_ends_the_run_with_a_way_out() {
    let folder = Folder::new("uring-refused");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let plan = plan(&server.socket, "io_uring");
    let output = run_without(libc::SYS_io_uring_setup, libc::EPERM, &plan);
    let failure = failure(&output);
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("refuses io_uring"), "{message}");
    assert!(failure["hint"].as_str().unwrap().contains("auto"));
}

#[test]
fn epoll_needs_no_new_system_call() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let folder = Folder::new(&format!("old-epoll-{errno}"));
        let server = FakeServer::start(&folder.0, Torn(1000));
        let mut plan = of_events(plan(&server.socket, "epoll"), 40);
        // Waits that end by time as well as by answers.
        plan["load"]["arrival"] = json!({"kind": "closed", "think_s": 0.002});
        let output = run_without(libc::SYS_epoll_pwait2, errno, &plan);
        assert!(done(&output)["queries"].as_u64().unwrap() > 0);
    }
}

#[test]
fn the_engine_is_told_before_a_run_and_is_the_one_that_the_run_has() {
    let folder = Folder::new("engine");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let told = |plan: &Value| lines(&asked(&mut Command::new(PROGRAM), plan))[0].clone();
    let used = |plan: &Value| lines(&run(&of_events(plan.clone(), 40)))[0]["engine"].clone();
    let mut plan = plan(&server.socket, "auto");
    let of_many = told(&plan)["engine"].clone();
    assert!(of_many == "io_uring" || of_many == "epoll", "{of_many}");
    for (connections, threads) in [(4, 1), (4, 4), (2, 2), (1, 1)] {
        plan["load"]["connections"] = json!(connections);
        plan["load"]["threads"] = json!(threads);
        let wanted = [&of_many, &of_many];
        assert_eq!([&told(&plan)["engine"], &used(&plan)], wanted, "{plan}");
    }
    plan["load"]["engine"] = json!("epoll");
    assert_eq!([&told(&plan)["engine"], &used(&plan)], ["epoll", "epoll"]);
    plan["server"] = json!({"host": "127.0.0.1"});
    plan["load"]["engine"] = json!("auto");
    assert_eq!(told(&plan)["engine"], of_many);
}

#[test]
fn an_engine_that_is_refused_is_told_with_the_reason() {
    let mut plan = plan("/nowhere".as_ref(), "auto");
    let ask = |plan: &Value| asked(&mut without(libc::SYS_io_uring_setup, libc::EPERM), plan);
    let told = &lines(&ask(&plan))[0];
    assert_eq!(told["engine"], "epoll");
    let refused = told["refused"].as_str().unwrap();
    assert!(refused.contains("not permitted"), "{refused}");
    plan["load"]["engine"] = json!("io_uring");
    let message = failure(&ask(&plan))["message"].clone();
    assert!(message.as_str().unwrap().contains("refuses io_uring"));
}
