// Where the parts of the fleet's picture stand: pure.

const WIDE = 720, GAP = 18, TOP = 8;
const BOX = { wide: { width: 236, height: 126 }, narrow: { width: 158, height: 126 } };
const GATEWAY = { wide: { width: 150, height: 96 }, narrow: { width: 334, height: 64 } };

/**
 * {width, height, gateway, boxes: Map id -> box} for a view of this width, in its own units; a box
 * is {x, y, width, height}. Prefill workers are left of decode workers; the gateway is left of
 * both, or above them where there is no room.
 */
export function layoutOf(viewWidth, prefill, decode) {
  const kind = viewWidth >= WIDE ? "wide" : "narrow", box = BOX[kind], gate = GATEWAY[kind];
  const width = kind === "wide" ? Math.min(Math.max(viewWidth, 860), 1120) : 350;
  const rows = Math.max(prefill.length, decode.length, 1);
  const top = kind === "wide" ? TOP : TOP + gate.height + 40;
  const height = top + rows * (box.height + GAP) - GAP + TOP;
  const columns = kind === "wide" ? [width * 0.5 - box.width / 2, width - box.width - 8]
    : [8, width - box.width - 8];
  const boxes = new Map();
  [prefill, decode].forEach((ids, column) => {
    const free = height - top - TOP - (ids.length * (box.height + GAP) - GAP);
    ids.forEach((id, i) => boxes.set(id, { ...box, x: columns[column],
      y: top + (kind === "wide" ? free / 2 : 0) + i * (box.height + GAP) }));
  });
  const gateway = { ...gate, x: 8, y: kind === "wide" ? (height - gate.height) / 2 : TOP };
  return { kind, width, height, gateway, boxes };
}

/** A curve from one box to another; their nearest sides. */
export function pathBetween(from, to) {
  const a = middle(from), b = middle(to);
  if (Math.abs(a.x - b.x) < 60) { // one above the other
    const side = Math.max(from.x + from.width, to.x + to.width);
    return `M${side},${a.y} C${side + 46},${a.y} ${side + 46},${b.y} ${side},${b.y}`;
  }
  if (from.y + from.height <= to.y || to.y + to.height <= from.y) {
    const down = from.y < to.y, y0 = down ? from.y + from.height : from.y;
    const y1 = down ? to.y : to.y + to.height, bend = (y0 + y1) / 2;
    if (Math.abs(y1 - y0) < 60)
      return `M${a.x},${y0} C${a.x},${bend} ${b.x},${bend} ${b.x},${y1}`;
  }
  const right = a.x < b.x, x0 = right ? from.x + from.width : from.x;
  const x1 = right ? to.x : to.x + to.width, bend = (x0 + x1) / 2;
  return `M${x0},${a.y} C${bend},${a.y} ${bend},${b.y} ${x1},${b.y}`;
}

function middle({ x, y, width, height }) {
  return { x: x + width / 2, y: y + height / 2 };
}
