// One tooltip for everything that has `data-tip`: with the mouse, by keyboard focus, and away with Escape.

const tip = byId("tip");
let tipped = null;

function showTip(node) {
  tipped = node;
  tip.textContent = node.dataset.tip;
  tip.hidden = false;
  node.setAttribute("aria-describedby", "tip");
  const box = node.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), width - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
}

function hideTip() {
  tipped?.removeAttribute("aria-describedby");
  tipped = null;
  tip.hidden = true;
}

for (const event of ["mouseover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    const node = target.closest?.("[data-tip]");
    if (node && node !== tipped) {
      hideTip();
      showTip(node);
    } else if (!node && event === "mouseover" && tipped !== document.activeElement) hideTip();
  });
}
document.addEventListener("focusout", hideTip);
document.addEventListener("keydown", ({ key }) => key === "Escape" && hideTip());
// What gets the focus may be scrolled into view after it: its tooltip goes with it.
const follow = () => tipped && (tipped === document.activeElement ? showTip(tipped) : hideTip());
document.addEventListener("scroll", follow, { passive: true, capture: true });
