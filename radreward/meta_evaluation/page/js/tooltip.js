// One tooltip for all elements with `data-tooltip`: shown on hover and on focus, hidden with Escape.

const tooltip = byId("tooltip");
let tooltipOwner = null;

function showTooltip(node) {
  tooltipOwner = node;
  tooltip.textContent = node.dataset.tooltip;
  tooltip.hidden = false;
  node.setAttribute("aria-describedby", "tooltip");
  const box = node.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.min(
    Math.max(8, box.left + box.width / 2 - tooltip.offsetWidth / 2),
    width - tooltip.offsetWidth - 8,
  );
  const above = box.top - tooltip.offsetHeight - 6;
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
}

function hideTooltip() {
  tooltipOwner?.removeAttribute("aria-describedby");
  tooltipOwner = null;
  tooltip.hidden = true;
}

// The owner is the focused element, or a part of it: the selected point of a focused chart.
const ownerHasFocus = () => document.activeElement !== document.body && document.activeElement.contains(tooltipOwner);

for (const event of ["mouseover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    const node = target.closest?.("[data-tooltip]");
    if (node && node !== tooltipOwner) {
      hideTooltip();
      showTooltip(node);
    } else if (!node && event === "mouseover" && tooltipOwner && !ownerHasFocus()) hideTooltip();
  });
}
document.addEventListener("focusout", hideTooltip);
document.addEventListener("keydown", ({ key }) => key === "Escape" && hideTooltip());
// A focused element may be scrolled into view after it gets the focus: its tooltip moves with it.
const followOwner = () => tooltipOwner && (ownerHasFocus() ? showTooltip(tooltipOwner) : hideTooltip());
document.addEventListener("scroll", followOwner, { passive: true, capture: true });
