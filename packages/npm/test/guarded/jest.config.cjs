const settings = require("./settings.cjs");

module.exports = { preset: "lodestone-db", testMatch: ["<rootDir>/*.jest.cjs"], globals: settings("jest.sarif") };
