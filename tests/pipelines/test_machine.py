from pipelines.machine import usable_cores, usable_memory


def test_the_container_limits_the_machine(tmp_path):
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert usable_memory(tmp_path) == 1 << 20
    assert usable_cores(tmp_path) == 1


def test_the_first_version_of_control_groups_counts_too(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("2097152\n")
    assert usable_memory(tmp_path) == 2 << 20


def test_no_limit_leaves_the_machine(tmp_path):
    machine, cores = usable_memory(tmp_path), usable_cores(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_memory(tmp_path) == machine > 1 << 20
    assert usable_cores(tmp_path) == cores >= 1


def test_less_than_a_core_is_one(tmp_path):
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable_cores(tmp_path) == 1
