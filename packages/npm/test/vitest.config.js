import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["*.vitest.mjs"],
    globalSetup: ["lodestone-db/vitest"],
    setupFiles: ["lodestone-db/vitest/account"],
  },
});
