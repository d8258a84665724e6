"""Expert codes of the Open-i reports, and the findings of our vocabulary that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.severity import SEVERITY_LEVELS
from radreward.text.significance import is_actionable

SEVERITY_OF_QUALIFIER = {
    **dict.fromkeys(("mild", "small", "borderline"), "mild"),
    "moderate": "moderate",
    **dict.fromkeys(("severe", "large", "prominent", "enlarged"), "severe"),
}
"""Severity of each qualifier that states one."""
DESCRIPTIONS = frozenset(
    (
        *(
            "abnormal",
            "acute",
            "blunted",
            "bronchovascular",
            "chronic",
            "degenerative",
            "diffuse",
            "elevated",
            "flattened",
        ),
        *("focal", "healed", "hyperdistention", "hypoinflation", "interstitial", "irregular", "multilobar", "multiple"),
        *("obscured", "patchy", "reticular", "round", "scattered", "streaky", "tortuous"),
    )
)
"""Qualifiers that state neither a severity nor a location; every other qualifier is a location."""
FINDING_OF_CODE: dict[tuple[str, str | None], str] = {
    (heading, qualifier): finding
    for finding, headings in {
        "adenopathy": ("lymph nodes", "mediastinum/lymph nodes"),
        "aneurysm": ("aortic aneurysm",),
        "aorticcalc": (
            "atherosclerosis",
            *(f"calcinosis/{part}" for part in ("aorta", "aorta, thoracic", "blood vessels")),
        ),
        "aorticcontour": ("aorta/prominent", "aorta, thoracic/prominent"),
        "atelectasis": ("pulmonary atelectasis", "volume loss"),
        "blunting": ("costophrenic angle", "sulcus"),
        "breastimpl": ("breast implants",),
        "bronchiectasis": ("bronchiectasis",),
        "bulla": ("blister", "cysts"),
        "cardiomegaly": ("cardiomegaly", "cardiac shadow"),
        "calcnodes": tuple(f"calcinosis/{part}" for part in ("hilum", "lymph nodes", "mediastinum")),
        "cavity": ("cavitation",),
        "chilaiditi": ("colonic interposition",),
        "clavfx": ("fractures, bone/clavicle",),
        "clips": ("surgical instruments", "sutures"),
        "congestion": ("pulmonary congestion",),
        "consolidation": ("airspace disease", "infiltrate", "consolidation"),
        "crowding": ("markings/bronchovascular",),
        "cvc": ("catheters, indwelling",),
        "cysticfibrosis": ("cystic fibrosis",),
        "degenerative": (
            *("thoracic vertebrae", "lumbar vertebrae", "cervical vertebrae", "spine", "osteophyte", "spondylosis"),
            *("hyperostosis, diffuse idiopathic skeletal", "arthritis"),
            *("ribs/degenerative", "bone and bones/degenerative"),
        ),
        "dislocation": ("dislocations",),
        "edema": ("pulmonary edema", "heart failure"),
        "effusion": ("pleural effusion",),
        "elevdia": ("diaphragm",),
        "emphysema": (
            *("emphysema", "pulmonary emphysema", "bullous emphysema", "pulmonary disease, chronic obstructive"),
        ),
        "eventration": ("diaphragmatic eventration",),
        "fatpad": ("epicardial fat", "adipose tissue"),
        "fibrosis": ("pulmonary fibrosis", "fibrosis"),
        "flatdia": ("diaphragm/flattened",),
        "foreign": ("foreign bodies",),
        "fracture": ("fractures, bone",),
        "freeair": ("pneumoperitoneum",),
        "gallstones": ("cholelithiasis",),
        "granuloma": ("granuloma", "calcified granuloma"),
        "granulomatous": ("granulomatous disease", "calcinosis"),
        "hardware": ("spinal fusion",),
        "hemothorax": ("hemothorax",),
        "hilar": ("lung/hilum",),
        "hiatal": ("hernia, hiatal",),
        "hiddendia": ("diaphragm/obscured",),
        "hydropneumothorax": ("hydropneumothorax", "hemopneumothorax"),
        "hyperinflation": ("lung/hyperdistention",),
        "hyperlucency": ("lung, hyperlucent", "lucency"),
        "hypoinflation": ("lung/hypoinflation",),
        "interstitial": (
            *("markings", "lung diseases, interstitial", "lung/interstitial", "infiltrate/interstitial"),
            *("opacity/interstitial", "opacity/reticular"),
        ),
        "kyphosis": ("kyphosis",),
        "la": ("heart atria",),
        "lobectomy": ("pneumonectomy",),
        "lvh": ("heart ventricles",),
        "lytic": ("expansile bone lesions", "lucency/clavicle", "lucency/ribs"),
        "mass": ("mass",),
        "mastectomy": ("mastectomy",),
        "nipple": ("nipple shadow",),
        "nodule": ("density/round", "nodule", "opacity/round"),
        "oldfx": ("deformity/clavicle", "deformity/humerus"),
        "oldribfx": ("deformity/ribs", "fractures, bone/healed"),
        "opacity": ("opacity", "density"),
        "osteopenia": ("bone diseases, metabolic", "osteoporosis"),
        "pacemaker": ("implanted medical device/heart",),
        "paratracheal": ("mediastinum/paratracheal",),
        "pectus": ("deformity/thorax", "funnel chest", "pectus carinatum"),
        "pericardial": ("pericardial effusion",),
        "peribronchial": ("bronchitis", "bronchiolitis", "thickening/bronchi", "thickening/bronchovascular"),
        "plaque": ("calcinosis/pleura",),
        "pneumonia": ("pneumonia",),
        "pneumothorax": ("pneumothorax",),
        "pulmhtn": ("hypertension, pulmonary", "pulmonary artery"),
        "ra": ("heart atria/right",),
        "ribfx": ("fractures, bone/ribs",),
        "rv": ("heart ventricles/right",),
        "sarcoidosis": ("sarcoidosis",),
        "scar": ("cicatrix",),
        "sclerosis": ("sclerosis",),
        "scoliosis": ("scoliosis",),
        "shift": ("shift",),
        "shoulder": ("shoulder",),
        "spondylolisthesis": tuple(f"dislocations/{part} vertebrae" for part in ("cervical", "lumbar", "thoracic")),
        "stent": ("stents",),
        "sternalfx": ("fractures, bone/sternum",),
        "subq": ("subcutaneous emphysema", "subcutaneous  emphysema"),
        "thickening": ("thickening", "pleura", "sclerosis/pleura"),
        "tortuous": ("aorta/tortuous", "aorta, thoracic/tortuous"),
        "trach": ("tube, inserted/trachea", "tube, inserted/trachea, carina"),
        "tuberculosis": ("tuberculosis",),
        "valve": ("implanted medical device/aortic valve", "implanted medical device/mitral valve"),
        "vertfx": tuple(
            f"{heading}/{part}"
            for heading in ("deformity", "fractures, bone")
            for part in ("lumbar vertebrae", "spine", "thoracic vertebrae")
        ),
        "widemed": ("mediastinum",),
    }.items()
    for heading, _, name in (entry.partition("/") for entry in headings)
    for qualifier in (name or None,)
}
"""Finding of a heading, or of a heading with one qualifier, which comes first; our reading of the codes."""
ANY_DEVICE = frozenset(("contrast media", "implanted medical device", "medical device", "tube, inserted"))
"""Headings that do not say which device it is, or which contrast."""
ZONE_OF_QUALIFIER = {
    **dict.fromkeys(("base", "lower lobe", "costophrenic angle", "sulcus", "retrocardiac"), "lower"),
    **dict.fromkeys(("apex", "upper lobe"), "upper"),
    **dict.fromkeys(("middle lobe", "lingula"), "middle"),
    "hilum": "perihilar",
}
"""Zone of the lung that a qualifier means."""


class MeSHCode(NamedTuple):
    """One coded finding.

    >>> MeSHCode.of_path(("opacity", "lung", "left", "mild")).severity
    'mild'
    """

    heading: str
    qualifiers: frozenset[str] = frozenset()

    @classmethod
    def of_path(cls, path: Sequence[str]) -> MeSHCode:
        """Return the code of a heading and its qualifiers."""
        return cls(path[0], frozenset(path[1:]))

    @property
    def locations(self) -> frozenset[str]:
        """Qualifiers that state where."""
        return self.qualifiers - SEVERITY_OF_QUALIFIER.keys() - DESCRIPTIONS

    @property
    def severity(self) -> str | None:
        """The stated severity; the lowest if there are several, None if there is none."""
        stated = {SEVERITY_OF_QUALIFIER[name] for name in self.qualifiers & SEVERITY_OF_QUALIFIER.keys()}
        return min(stated, key=SEVERITY_LEVELS.__getitem__, default=None)

    @property
    def finding(self) -> str | None:
        """Finding of the vocabulary, None if there is none that means the code.

        >>> MeSHCode.of_path(("lung", "hypoinflation")).finding, MeSHCode("lung").finding
        ('hypoinflation', None)
        """
        ordered = sorted(self.qualifiers, key=lambda name: (name != "healed", name))
        qualified = (FINDING_OF_CODE.get((self.heading, name)) for name in ordered)
        return next(filter(None, qualified), FINDING_OF_CODE.get((self.heading, None)))

    @property
    def fact(self) -> Fact | None:
        """The coded finding with its place, as far as our vocabulary has it, and its severity; None without a finding.

        >>> MeSHCode.of_path(("pulmonary atelectasis", "lung", "base", "left", "mild")).fact[:4]
        ('atelectasis', 'present', 'left lower', 'mild')
        """
        if self.finding is None:
            return None
        side = next((name for name in ("bilateral", "left", "right") if name in self.qualifiers), "")
        zone = next((zone for name, zone in ZONE_OF_QUALIFIER.items() if name in self.qualifiers), "")
        places = FINDINGS[self.finding].locations
        location = next((place for place in (f"{side} {zone}", side) if place and place in places), None)
        return Fact(self.finding, location=location, severity=self.severity)

    @property
    def is_significant(self) -> bool:
        """True if an error about the code would change patient care, by the guideline of `is_actionable`.

        A code without a finding of the vocabulary is significant, unless its heading is one of `ANY_DEVICE`.
        """
        if self.finding is None:
            return self.heading not in ANY_DEVICE
        return is_actionable(Fact(self.finding, severity=self.severity))
