// The key space as a scroll bar: every place of any table is one request away.

import { useEffect, useRef } from "preact/hooks";

export interface StripProps {
  // Where the view is, from 0 to 1; none if that is not known.
  at: number | null;
  // What was read, as pairs of places.
  read: [number, number][];
  onJump(at: number): void;
}

export function Strip({ at, read, onJump }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dragged = useRef<number | null>(null);
  const marker = useRef<HTMLElement>(null);

  useEffect(() => {
    const element = canvas.current!;
    const height = Math.max(1, element.clientHeight);
    element.width = 1;
    element.height = height;
    const context = element.getContext("2d")!;
    const colour = getComputedStyle(element);
    context.fillStyle = colour.getPropertyValue("--north-soft");
    for (const [from, to] of read) context.fillRect(0, Math.floor(from * height), 1, Math.max(2, Math.ceil((to - from) * height)));
    context.fillStyle = colour.getPropertyValue("--line");
    for (let mark = 1; mark < 16; mark++) context.fillRect(0, Math.round((mark * height) / 16), 1, 1);
  });

  const place = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.min(0.9999, Math.max(0, (event.clientY - box.top) / box.height));
  };
  const onPointer = (event: PointerEvent) => {
    if (event.type === "pointerdown") (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    if (event.type === "pointermove" && dragged.current === null) return;
    dragged.current = place(event);
    if (marker.current) marker.current.style.top = `${100 * dragged.current}%`;
    if (event.type === "pointerup") {
      onJump(dragged.current);
      dragged.current = null;
    }
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1 / 256, ArrowUp: -1 / 256, PageDown: 1 / 16, PageUp: -1 / 16 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? 0.9999 : step && (at ?? 0) + step;
    if (to === undefined) return;
    event.preventDefault();
    onJump(Math.min(0.9999, Math.max(0, to)));
  };
  const percent = Math.round(100 * (at ?? 0));
  return (
    <div
      class="strip"
      role="slider"
      tabIndex={0}
      aria-label="Place in the key space"
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={at === null ? "behind a key" : `${percent} %`}
      title="The whole key space. What was read is shaded; drag to jump."
      onPointerDown={onPointer}
      onPointerMove={onPointer}
      onPointerUp={onPointer}
      onKeyDown={onKey}
    >
      <canvas ref={canvas} />
      {at !== null && <i ref={marker} style={{ top: `${100 * at}%` }} />}
    </div>
  );
}
