// What is between two panes: dragged, or moved with the arrows. Its place is kept in this browser.

import { useRef, useState } from "preact/hooks";

const WIDTHS = "lodestone-widths";
export function useSplit(name: string, usual: number): [number, (to: number) => void] {
  const all = (): Record<string, number> => JSON.parse(localStorage.getItem(WIDTHS) ?? "{}");
  const [share, setShare] = useState(() => all()[name] ?? usual);
  const set = (to: number) => {
    const within = Math.min(0.85, Math.max(0.15, to));
    setShare(within);
    localStorage.setItem(WIDTHS, JSON.stringify({ ...all(), [name]: within }));
  };
  return [share, set];
}

// Dragged, or moved with the arrows. `share` is what is left of it, or above it.
export function Splitter({ label, share, onShare, upright, onClose }: { label: string; share: number; onShare(to: number): void; upright?: boolean; onClose?(): void }) {
  const dragging = useRef(false);
  const onPointer = (event: PointerEvent) => {
    const element = event.currentTarget as HTMLElement;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId), (dragging.current = true);
    if (event.type === "pointerup") dragging.current = false;
    if (event.type !== "pointermove" || !dragging.current) return;
    const box = element.parentElement!.getBoundingClientRect();
    onShare(upright ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -0.02, ArrowUp: -0.02, ArrowRight: 0.02, ArrowDown: 0.02 }[event.key];
    if (step) event.preventDefault(), event.stopPropagation(), onShare(share + step);
    if (event.key === "Enter" && onClose) event.preventDefault(), onClose();
  };
  return (
    <div class={`splitter${upright ? " upright" : ""}`} role="separator" tabIndex={0} aria-label={label} aria-orientation={upright ? "horizontal" : "vertical"} aria-valuenow={Math.round(100 * share)} aria-valuemin={15} aria-valuemax={85} title="Drag, or use the arrows" onPointerDown={onPointer} onPointerMove={onPointer} onPointerUp={onPointer} onKeyDown={onKey} />
  );
}
