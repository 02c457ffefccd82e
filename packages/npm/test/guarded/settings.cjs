// The guard of both runners: what the configuration says, or nothing where the environment names the model.
const { LODESTONE_GUARD, MISSPELT } = process.env;

module.exports = (report) => {
  if (LODESTONE_GUARD) return {};
  if (MISSPELT) return { lodestoneGuard: { [MISSPELT]: "model.yaml" } };
  return { lodestoneGuard: { models: "model.yaml", reports: [report] } };
};
