from collections import Counter
from random import Random

from radreward.synthesis.report_styles import Style, brief_style, full_style, sample_style


def test_a_brief_report_has_one_section_and_no_headings() -> None:
    styles = [brief_style(Random(seed)) for seed in range(200)]
    assert {style.layout for style in styles} == {"impression", "findings"}
    assert all(style.most == 3 and not (style.headed or style.numbered or style.history) for style in styles)


def test_a_full_report_has_all_sections() -> None:
    styles = [full_style(Random(seed)) for seed in range(50)]
    assert {style._replace(filler=0) for style in styles} == {Style("both", headed=True, history=True, filler=0)}


def test_layouts_have_their_shares_and_go_together_with_what_they_allow() -> None:
    styles = [sample_style(Random(seed)) for seed in range(2000)]
    shares: Counter[str] = Counter(style.layout for style in styles)
    for layout, weight in (("impression", 4), ("findings", 4), ("both", 3)):
        assert abs(shares[layout] / 2000 - weight / 11) < 0.05
    for style in styles:
        assert style.layout == "both" or not (style.headed or style.history)
        assert not (style.numbered and (style.lower or style.layout == "findings"))
        assert style.most is None
    assert all(any(getattr(style, name) for style in styles) for name in ("headed", "numbered", "lower", "history"))
