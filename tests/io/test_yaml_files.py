from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml

ALIAS_BOMB = b"a0: &a0 1\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (level, level, b", ".join([b"*a%d" % (level - 1)] * 10)) for level in range(1, 31)
)
"""Each level has ten times the values of the level before it."""


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.floats(allow_nan=False) | st.lists(st.text())))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, content: dict[str, object]) -> None:
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert read_yaml(path) == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [", r"a\.yaml, line 1, column 5: Expected YAML but expected the node content"),
        (b"a: !!python/object:os.system b", r"a\.yaml, line 1, column 4: Expected YAML but could not determine"),
        (b"\xff", r"a\.yaml: Expected YAML in UTF-8"),
        (b"\0", r"a\.yaml: Expected YAML in UTF-8"),
        (b"date: 2024-13-45", r"a\.yaml: Expected YAML in UTF-8 but it cannot be read \(month must be in 1\.\.12\)"),
        (b"count: " + b"9" * 5_000, r"a\.yaml: Expected YAML in UTF-8 but it cannot be read \(Exceeds the limit"),
        (b"[" * 1_500, r"a\.yaml: Expected YAML but it is nested too deeply\."),
        (b"a: &a [1, *a]", r"a\.yaml: .* \(its aliases expand to inf values; the maximum is 100,000\)"),
        (ALIAS_BOMB, r"a\.yaml: .* \(its aliases expand to 1\.23e\+30 values; the maximum is 100,000\)"),
        (None, r"a\.yaml: Expected a YAML file but it cannot be read \(No such file or directory\)"),
    ],
)
def test_unusable_file_is_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_yaml(tmp_path / "a.yaml")
    assert len(str(error.value).splitlines()) == 1
