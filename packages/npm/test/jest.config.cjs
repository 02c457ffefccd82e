module.exports = { preset: "lodestone-db", testMatch: ["<rootDir>/*.jest.cjs"] };
