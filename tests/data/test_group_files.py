"""The folder of a data set's files."""

import os
from multiprocessing import get_context

from radreward.data.group_files import TemporaryFolder


def test_temporary_folder_goes_with_its_object_but_not_with_a_copy_in_a_forked_process() -> None:
    folders = [TemporaryFolder()]
    path = folders[0].path
    process = get_context("fork").Process(target=folders.clear)
    process.start()
    process.join()
    assert process.exitcode == os.EX_OK
    assert path.is_dir()
    folders.clear()
    assert not path.exists()
