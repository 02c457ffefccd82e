// Models, and PartiQL, which has the editor too, loaded together.

export { ModelScreen } from "../model/screen";
export { NewModel } from "../model/new";
export { Compare } from "../model/compare";
export { PartiqlScreen } from "../partiql";
