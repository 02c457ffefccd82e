declare module "*.css" {}
declare module "d3-dsv" {
  export function csvParseRows(text: string): string[][];
}
