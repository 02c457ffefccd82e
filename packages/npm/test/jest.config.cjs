module.exports = { preset: "lodestone-db", testMatch: ["**/*.jest.cjs"] };
