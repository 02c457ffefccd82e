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
export const Heat = drawn("M2.500 2.500h4.500v4.500H2.500zM9 2.500h4.500v4.500H9zM2.500 9h4.500v4.500H2.500zM9 9h4.500v4.500H9z");
export const Rising = drawn("M2 11.500 5.500 8l2.500 2 5.500-6");
export const Money = drawn("M11 4.800C10.500 3.600 9.400 3.200 8 3.200c-1.700 0-3 .8-3 2.300 0 3.200 6.200 1.500 6.200 4.800 0 1.600-1.400 2.500-3.200 2.500-1.600 0-2.900-.6-3.300-2M8 1.500v13");
export const Waves = drawn("M2 5.500c2-2 4-2 6 0s4 2 6 0M2 10.500c2-2 4-2 6 0s4 2 6 0");
export const Past = drawn("M3 8a5 5 0 1 1 1.500 3.600M3 4.500V8h3.500");
export const Bars = drawn("M2.500 13.500h11M4.500 11V7.500M8 11V3.500M11.500 11V6");
export const Clock = drawn("M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 1 0 0-11M8 5v3.200l2 1.300");
export const Globe = drawn("M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 1 0 0-11M2.500 8h11M8 2.500c-3 3-3 8 0 11M8 2.500c3 3 3 8 0 11");
export const Shapes = drawn("M2.500 3h4v3h-4zM9.500 3h4v3h-4zM2.500 10h4v3h-4zM9.500 10h4v3h-4zM6.500 4.500h3M6.500 11.500h3");
export const Plug = drawn("M6 2v3.500M10 2v3.500M4.500 5.500h7v2.500a3.500 3.500 0 0 1-7 0zM8 11.500V14");
export const More = drawn("M2.500 4h11M2.500 8h11M2.500 12h11");
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
