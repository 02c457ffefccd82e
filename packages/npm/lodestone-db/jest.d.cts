import lodestone = require("./lib/index.cjs");

/** For `globalSetup`: a server in memory for the run. */
declare function setup(run: unknown, project?: setup.Project): Promise<void>;

declare namespace setup {
  /** What it reads of a project's configuration. */
  interface Project {
    rootDir: string;
    globals: { lodestoneGuard?: lodestone.GuardSettings };
  }
}

export = setup;
