from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, LlamaConfig

from radreward.data.tokenizer import byte_tokenizer
from radreward.systems.ratescore.annotation_pipeline import (
    AnnotatedSentence,
    annotate_sentences,
    annotation_prompt,
    assign_polarity,
    entity_density,
    filter_by_density,
    filter_by_knowledge,
    parse_proposal,
    propose_entities,
)
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.types import ENTITY_TYPES, Entity

TEXT = "Small left effusion, no edema."
EFFUSION, EDEMA = Entity("effusion", "Abnormality", 11, 19), Entity("edema", "Disease", 24, 29)


@pytest.fixture(scope="module")
def encoder() -> EntityEncoder:
    return EntityEncoder()


def test_answers_are_read_in_the_order_of_the_sentence() -> None:
    answer = 'Sure: [{"name": "Edema", "type": "Disease"}, {"name": "effusion", "type": "Abnormality"}] (two)'
    assert parse_proposal(answer, TEXT) == (AnnotatedSentence(TEXT, (EFFUSION, EDEMA)), ())


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("I see an effusion.", "expected a JSON list but got 'I see an effusion.'"),
        ('["edema"]', "entity 1: expected an object with a name and a type but got 'edema'"),
        ('[{"name": "edema", "type": "Sign"}]', "for 'edema' but got 'Sign'"),
        ('[{"name": "mass", "type": "Disease"}]', "words of the sentence that no other entity has but got 'mass'"),
        ('[{"name": "dem", "type": "Disease"}]', "but got 'dem'"),
    ],
)
def test_what_cannot_be_used_is_told(answer: str, problem: str) -> None:
    found = parse_proposal(answer, TEXT)
    assert found.annotated.entities == ()
    assert problem in found.problems[0]


def test_a_name_given_twice_takes_two_places() -> None:
    text = "Edema or no edema."
    found = parse_proposal('[{"name": "edema", "type": "Disease"}, {"name": "edema", "type": "Non-Disease"}]', text)
    assert [(e.start, e.type) for e in found.annotated.entities] == [(0, "Disease"), (12, "Non-Disease")]


@given(st.text(alphabet='[]{}":, ednamtypDise\\', max_size=60))
def test_no_answer_breaks_the_parser(answer: str) -> None:
    found = parse_proposal(answer, TEXT)
    for entity in found.annotated.entities:
        assert TEXT[entity.start : entity.end] == entity.name
        assert entity.type in ENTITY_TYPES


def test_terms_far_from_knowledge_are_left_out(encoder: EntityEncoder) -> None:
    entry = AnnotatedSentence(
        "Pleural effusion today.",
        (Entity("Pleural effusion", "Abnormality", 0, 16), Entity("today", "Anatomy", 17, 22)),
    )
    assert [e.name for e in next(filter_by_knowledge([entry], ["pleural effusion", "heart"], encoder)).entities] == [
        "Pleural effusion"
    ]
    assert next(filter_by_knowledge([entry], ["heart"], encoder, threshold=-1)) == entry
    assert next(filter_by_knowledge([entry._replace(entities=())], ["heart"], encoder)).entities == ()


def test_the_threshold_is_the_cosine(encoder: EntityEncoder) -> None:
    one, other = encoder.encode(["effusion", "fluid"])
    cosine = float(one @ other)
    entry = AnnotatedSentence("Fluid", (Entity("fluid", "Abnormality", 0, 5),))
    assert next(filter_by_knowledge([entry], ["effusion"], encoder, cosine - 1e-4)).entities
    assert not next(filter_by_knowledge([entry], ["effusion"], encoder, cosine + 1e-4)).entities


def test_density_counts_words_that_say_something() -> None:
    assert entity_density(AnnotatedSentence(TEXT, (EFFUSION, EDEMA))) == 2 / 4  # small, left, effusion, edema
    whole = AnnotatedSentence(TEXT, (EFFUSION._replace(name="Small left effusion", start=0), EDEMA))
    assert entity_density(whole) == 1
    assert entity_density(AnnotatedSentence("It is of the.", ())) == 0
    assert list(filter_by_density([AnnotatedSentence(TEXT, (EFFUSION, EDEMA)), whole])) == [whole]
    assert len(list(filter_by_density([AnnotatedSentence(TEXT, (EFFUSION, EDEMA))], 0.5))) == 1


def test_polarity_is_that_of_the_rules() -> None:
    wrong = (EFFUSION._replace(type="Non-Abnormality"), EDEMA, Entity("left", "Anatomy", 6, 10))
    turned = next(assign_polarity([AnnotatedSentence(TEXT, wrong)], RuleTagger())).entities
    assert [entity.type for entity in turned] == ["Abnormality", "Non-Disease", "Anatomy"]
    unknown = AnnotatedSentence("No blorb.", (Entity("blorb", "Disease", 3, 8),))
    assert next(assign_polarity([unknown], RuleTagger())) == unknown


def test_all_stages(encoder: EntityEncoder) -> None:
    answers = {
        TEXT: '[{"name": "small left effusion", "type": "Abnormality"}, {"name": "edema", "type": "Disease"}]',
        "Seen by the team today.": '[{"name": "team", "type": "Anatomy"}]',
    }

    def chat(text: str) -> str:
        return next(answer for sentence, answer in answers.items() if f"Sentence: {sentence}\nAnswer:" in text)

    found = list(annotate_sentences(answers, chat, ["left effusion", "edema"], encoder, RuleTagger()))
    assert [(e.name, e.type) for entry in found for e in entry.entities] == [
        ("Small left effusion", "Abnormality"),
        ("edema", "Non-Disease"),
    ]


def test_a_language_model_from_disk_answers(tmp_path: Path) -> None:
    """Random weights say nothing of use, which is told; the answer comes through all the same."""
    torch.manual_seed(0)
    sizes = LlamaConfig(
        vocab_size=260, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    AutoModelForCausalLM.from_config(sizes).save_pretrained(tmp_path)
    tokenizer = byte_tokenizer(encoder=False)
    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path)

    def chat(text: str) -> str:
        ids = torch.tensor([tokenizer.encode(text)])
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False, pad_token_id=0
        )
        return str(tokenizer.decode(out[0, ids.shape[1] :]))

    found = propose_entities(chat, TEXT)
    assert found.annotated == AnnotatedSentence(TEXT, ())
    assert found.problems[0].startswith("expected a JSON list but got ")
    assert TEXT in annotation_prompt(TEXT)


def test_settings_are_checked(encoder: EntityEncoder) -> None:
    with pytest.raises(ValueError, match="Expected `knowledge` to have at least one term"):
        filter_by_knowledge([], [], encoder)
    with pytest.raises(ValueError, match=r"Expected `threshold` to be in \[-1, 1\] but got 2"):
        filter_by_knowledge([], ["heart"], encoder, 2)
    with pytest.raises(ValueError, match=r"Expected `threshold` to be in \[0, 1\] but got 2"):
        filter_by_density([], 2)
