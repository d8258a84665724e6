import logging
from pathlib import Path
from typing import Any

import pytest

from radreward.data.entity_datamodule import EntityDataModule
from radreward.data.entity_io import TaggedSentence, write_tagged_sentences
from radreward.errors import InputError


def write(path: Path, texts: list[str]) -> str:
    write_tagged_sentences(path, [TaggedSentence(text, ()) for text in texts])
    return str(path)


def texts_of(loader: Any) -> list[str]:
    return [sentence.text for batch in loader for sentence in batch]


def test_val_split_fraction_puts_every_sentence_in_one_split(tmp_path: Path) -> None:
    texts = [f"No nodule of {number} mm." for number in range(50)]
    files = [write(tmp_path / "a.jsonl", texts[:30]), write(tmp_path / "b.jsonl", texts[30:])]
    data = EntityDataModule(files, val_split=0.3, batch_size=4)
    data.setup()
    train, validation = texts_of(data.train_dataloader()), texts_of(data.val_dataloader())
    assert set(train) | set(validation) == set(texts)
    assert not set(train) & set(validation)
    assert validation == [text for text in texts if text in validation], "validation keeps the order of the files"
    assert set(data.file_fingerprints()) == set(files)


def test_val_split_file_is_used_completely(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = EntityDataModule(write(tmp_path / "a.jsonl", ["One.", "Two."]), write(tmp_path / "b.jsonl", ["TWO."]))
    with caplog.at_level(logging.WARNING):
        data.setup()
    assert texts_of(data.val_dataloader()) == ["TWO."]
    assert "1 of the 1 validation sentences are training sentences too" in caplog.text


def test_split_without_sentences_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b\.jsonl: Expected sentences for validation but none are left"):
        EntityDataModule(write(tmp_path / "a.jsonl", ["One."]), write(tmp_path / "b.jsonl", [])).setup()


def test_without_files_raises() -> None:
    with pytest.raises(ValueError, match="Expected `sentences` to name a file but got none"):
        EntityDataModule([])
