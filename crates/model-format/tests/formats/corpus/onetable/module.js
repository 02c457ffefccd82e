export default {
  format: 'onetable:1.1.0',
  version: '0.1.0',
  indexes: { primary: { hash: 'pk', sort: 'sk' }, gs1: { hash: 'gs1pk', sort: 'gs1sk', project: 'keys' } },
  models: {
    Account: {
      pk: { type: String, value: 'account#${id}' },
      sk: { type: String, value: 'account#' },
      id: { type: String, generate: 'ulid', validate: /^[0-9A-Z]{26}$/ },
      state: { type: String, enum: ['on', 'off'], default: 'on' },
      gs1pk: { type: String, value: 'state#${state}' },
      gs1sk: { type: String, value: 'account#${id}' },
    },
  },
  params: { isoDates: true, timestamps: true },
};
