//! The program as `cargo xtask` starts it.

use assert_cmd::Command;

#[test]
fn an_unknown_command_is_refused_and_those_that_there_are_stand_beside_it() {
    let ended = Command::new(env!("CARGO_BIN_EXE_numabench-proving")).arg("calibrated").assert().failure();
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("calibrate, campaign, launch-truth, real-runs, slurm-truth"), "{said}");
}

#[test]
fn an_argument_that_a_command_does_not_take_is_an_error_of_that_command() {
    let ended = Command::new(env!("CARGO_BIN_EXE_numabench-proving"))
        .args(["campaign", "--short"])
        .assert()
        .failure();
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("xtask campaign: takes --long"), "{said}");
}
