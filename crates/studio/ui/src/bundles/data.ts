// Tables, items and requests, loaded together: one file packs better than many small ones.

export { TableScreen } from "../table/screen";
export { QueryScreen } from "../query";
export { NewTable } from "../newtable";
