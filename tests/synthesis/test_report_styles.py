from collections import Counter
from dataclasses import replace
from random import Random

from radreward.synthesis.report_styles import ReportStyle, brief_style, full_style, sample_style


def test_brief_style_has_one_section() -> None:
    styles = [brief_style(Random(seed)) for seed in range(200)]
    assert {style.layout for style in styles} == {"impression", "findings"}
    assert all(
        style.max_findings == 3 and not (style.has_headings or style.number_items or style.has_history)
        for style in styles
    )


def test_full_style_has_all_sections() -> None:
    styles = [full_style(Random(seed)) for seed in range(50)]
    assert {replace(style, filler_probability=0) for style in styles} == {
        ReportStyle("both", has_headings=True, has_history=True, filler_probability=0)
    }


def test_sample_style_layout_frequencies_and_constraints() -> None:
    styles = [sample_style(Random(seed)) for seed in range(2000)]
    shares: Counter[str] = Counter(style.layout for style in styles)
    for layout, weight in (("impression", 4), ("findings", 4), ("both", 3)):
        assert abs(shares[layout] / 2000 - weight / 11) < 0.05
    for style in styles:
        assert style.layout == "both" or not (style.has_headings or style.has_history)
        assert not (style.number_items and (style.lowercase or style.layout == "findings"))
        assert style.max_findings is None
    assert all(
        any(getattr(style, name) for style in styles)
        for name in ("has_headings", "number_items", "lowercase", "has_history")
    )
