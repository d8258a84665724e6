"""Wording of normal statements by the findings that they negate, of unchanged body parts, and of normal reports."""

from __future__ import annotations

NORMAL_STATEMENTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("opacity", "consolidation"): (
        "The lungs are clear.",
        "Lungs are clear.",
        "The lung fields are clear.",
        "Both lungs are clear.",
        "Clear lungs.",
        "The lungs are well expanded and clear.",
        "Lungs are grossly clear.",
        "The lungs remain clear.",
        "Lungs are clear bilaterally.",
        "No focal airspace opacity is seen in either lung.",
    ),
    ("cardiomegaly",): (
        "The heart size is normal.",
        "Heart size is within normal limits.",
        "The cardiac silhouette is unremarkable.",
        "Normal heart size.",
        "The heart is not enlarged.",
        "Cardiac size is normal.",
        "The heart is normal in size.",
        "Heart size normal.",
        "The heart remains normal in size.",
    ),
    ("cardiomegaly", "widemed"): (
        "The cardiomediastinal silhouette is within normal limits.",
        "Cardiomediastinal contours are normal.",
        "The heart and mediastinum are unremarkable.",
        "Normal cardiomediastinal silhouette.",
        "Heart and mediastinal contours are within normal limits.",
        "Heart size and mediastinal contours are normal.",
        "The cardiomediastinal silhouette is unremarkable.",
    ),
    ("adenopathy", "widemed"): (
        "The hilar and mediastinal contours are normal.",
        "Mediastinal and hilar structures are unremarkable.",
        "The mediastinum and hila are normal.",
        "Hila and mediastinum are within normal limits.",
    ),
    ("effusion",): (
        "The costophrenic angles are sharp.",
        "Pleural surfaces are unremarkable.",
        "The costophrenic sulci are clear.",
        "The pleural spaces are clear.",
    ),
    ("effusion", "pneumothorax"): (
        "The pleura are normal.",
        "No pleural abnormality.",
        "The pleural surfaces are normal.",
        "No pleural abnormality is detected.",
    ),
    ("edema", "congestion"): (
        "The pulmonary vasculature is normal.",
        "Pulmonary vascularity is within normal limits.",
        "Normal pulmonary vascularity.",
        "The pulmonary vessels are unremarkable.",
    ),
    ("fracture",): (
        "The osseous structures are intact.",
        "No acute bony abnormality.",
        "The visualized bones are unremarkable.",
        "Osseous structures are grossly unremarkable.",
        "Visualized skeleton is intact.",
        "No acute osseous abnormality.",
        "Bony structures are intact.",
    ),
    ("freeair",): (
        "The upper abdomen is unremarkable.",
        "Visualized upper abdomen is normal.",
        "The visualized abdomen is unremarkable.",
    ),
}
UNCHANGED_STATEMENTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("opacity", "consolidation"): (
        "The lungs are unchanged in appearance.",
        "The appearance of the lungs is stable.",
        "The lungs are stable.",
    ),
    ("cardiomegaly",): (
        "The heart size is unchanged.",
        "Heart size is stable.",
        "The cardiac silhouette is stable.",
        "The heart is stable in size.",
        "The cardiac silhouette is unchanged in appearance.",
    ),
    ("cardiomegaly", "widemed"): (
        "The cardiomediastinal silhouette is stable.",
        "Cardiomediastinal contours are unchanged.",
        "Stable cardiomediastinal silhouette.",
        "Heart size and mediastinal contours are stable.",
        "Stable appearance of the heart and mediastinum.",
    ),
    ("adenopathy", "widemed"): (
        "The mediastinum is stable.",
        "Mediastinal and hilar contours are unchanged.",
        "The mediastinal contours are stable.",
        "The trachea is midline.",
        "The hilar contours are stable.",
    ),
    ("edema", "congestion"): ("The pulmonary vasculature is stable.", "Pulmonary vascularity is unchanged."),
    ("fracture",): (
        "The osseous structures are stable.",
        "The bony thorax is unchanged.",
        "No interval change of the visualized bones.",
        "The soft tissues are unremarkable.",
    ),
}
"""Statements about the body parts of `NORMAL_STATEMENTS` that state no finding, neither present nor absent."""
ALL_CLEAR_STATEMENTS = (
    "No acute cardiopulmonary process.",
    "No acute cardiopulmonary abnormality.",
    "No acute intrathoracic process.",
    "Normal chest radiograph.",
    "No acute findings.",
    "No active disease.",
    "No radiographic evidence of acute disease.",
    "Unremarkable chest.",
    "No acute disease in the chest.",
    "No acute process.",
    "No acute cardiopulmonary disease.",
    "No evidence of acute cardiopulmonary disease.",
    "Normal chest.",
    "No acute abnormality identified.",
)
