import type { ComponentChildren } from "preact";

const Icon = ({ children, size = 16 }: { children: ComponentChildren; size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
    {children}
  </svg>
);
const drawn = (d: string) => () => (
  <Icon>
    <path d={d} />
  </Icon>
);

export const Home = drawn("M2 8 8 2.5 14 8M4 7v6.5h8V7");
export const Grid = () => (
  <Icon>
    <rect x="2" y="3" width="12" height="10" rx="1.5" />
    <path d="M2 6.5h12M6 6.5V13" />
  </Icon>
);
export const Prompt = drawn("m3 4 4 4-4 4M8.5 12.5H13");
export const Ask = drawn("M2.500 4h11M4.500 8h7M6.500 12h3");
export const Sheet = drawn("M4 2.5h6l2.5 2.5v8.5H4zM6 8h4M6 10.5h4");
export const Tick = drawn("m2.5 8 3 3 8-7");
export const Compass = drawn("M3 13 8 3l5 10M5 9.5h6");
export const Search = () => (
  <Icon size={14}>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3.5 3.5" />
  </Icon>
);
export const Chevron = ({ open }: { open: boolean }) => (
  <svg width="9" height="9" viewBox="0 0 10 10" aria-hidden="true">
    <path d={open ? "M1 3l4 4 4-4" : "M3 1l4 4-4 4"} fill="none" stroke="currentColor" stroke-width="1.6" />
  </svg>
);
// The crystal: it turns while something loads.
export const Logo = ({ size = 22, turning = false }: { size?: number; turning?: boolean }) => (
  <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" class={turning ? "turning" : undefined}>
    <path d="M12 1 2.5 12.6 9.6 14.2Z" class="facet-a" />
    <path d="M12 1 9.6 14.2 21.5 12.6Z" class="facet-b" />
    <path d="M2.5 12.6 9.6 14.2 12 23Z" class="facet-c" />
    <path d="M9.6 14.2 21.5 12.6 12 23Z" class="facet-d" />
  </svg>
);
