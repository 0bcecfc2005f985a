// Making and changing elements. Text is only ever set as text: a name that looks like HTML
// stays a name.

/** Make an element; attributes that are null are left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...children);
  return made;
}

/** Set an attribute where it differs; null takes it away. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Set a leaf's text where it differs, so that a selection in it survives. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Make a parent's children those of the items, in their order, and keep what is there: an
 * element stays the same for as long as its key does, with its focus and all it was told.
 */
export function keyed(parent, items, { key, create, update }) {
  const focused = document.activeElement;
  const names = items.map(key);
  const there = leave(parent, new Set(names));
  let place = parent.firstElementChild;
  items.forEach((item, index) => {
    const child = there.get(names[index]) ?? named(create(item), names[index]);
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  });
  // An element that is moved loses the focus.
  if (focused !== document.activeElement && parent.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}

function leave(parent, wanted) {
  const there = new Map();
  for (const child of [...parent.children]) {
    if (wanted.has(child.dataset.key)) there.set(child.dataset.key, child);
    else child.remove();
  }
  return there;
}

function named(child, name) {
  child.dataset.key = name;
  return child;
}
