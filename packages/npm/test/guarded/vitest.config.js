import { defineConfig } from "vitest/config";
import settings from "./settings.cjs";

export default defineConfig({
  test: {
    include: ["*.vitest.mjs"],
    globalSetup: ["lodestone-db/vitest"],
    setupFiles: ["lodestone-db/vitest/account"],
    provide: settings("vitest.sarif"),
  },
});
