"""``metajudge audit``: the commands it proposes, and files that stay as they are."""

import shlex

import pytest


@pytest.fixture
def run(in_process):
    return in_process


GRADES = "item_id,question,response,judge,grade\n" + "".join(
    f"q{n},What is {n} + {n}?,{2 * n}.,{judge},{1 + (n + shift) % 5}\n"
    for n in range(20)
    for judge, shift in (("owl", 0), ("wren", n % 2))
)
PEOPLE = "item_id,annotator,grade\n" + "".join(f"q{n},ada,{1 + n % 5}\n" for n in range(15))


@pytest.fixture
def files(tmp_path):
    """A table of grades and a table of people's labels."""
    (tmp_path / "my grades.csv").write_text(GRADES)
    (tmp_path / "people.csv").write_text(PEOPLE)


class TestANewcomer:
    def test_the_next_commands_name_the_files_and_how_they_are_read(self, run, files):
        done = run("audit", "my grades.csv", "--labels", "people.csv")
        vet, *_ = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("metajudge vet ")]
        words = shlex.split(vet)
        assert words[2] == "my grades.csv"
        assert run(*words[1:], "--dry-run").returncode == 0


class TestOutputs:
    def test_an_input_in_the_folder_is_not_replaced(self, run, files, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "audit.json").write_text("[]")
        done = run("audit", "out/audit.json", "--out", "out")
        assert (done.returncode, "out/audit.json" in done.stderr) == (2, True)
        assert (tmp_path / "out" / "audit.json").read_text() == "[]"

    def test_a_file_in_place_of_the_folder_is_refused(self, run, files):
        done = run("audit", "my grades.csv", "--out", "people.csv")
        assert done.returncode == 2
        assert "people.csv" in done.stderr
