/** A schema of attributes for tests, with every kind of part that the service reads. */
import type { TestIdpOptions } from '../support/service/idp.js';

export interface Attributes {
  readonly costCenter: string;
  readonly desk?: number;
}

export const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://hr.example/attributes',
  title: 'Attributes of employees',
  type: 'object',
  properties: {
    costCenter: { title: 'Cost centre', type: 'string', maxLength: 10, pattern: '^C-\\d+$' },
    desk: { type: 'integer', minimum: 1 },
    since: { type: 'string', format: 'date' },
    colour: { enum: ['red', 'blue'] },
    'a/b~c': { type: 'boolean' },
    deputy: { $ref: '#/$defs/deputy' },
  },
  required: ['costCenter'],
  additionalProperties: false,
  $defs: {
    deputy: {
      type: 'object',
      properties: { number: { type: 'string' }, deputy: { $ref: '#/$defs/deputy' } },
      required: ['number'],
      additionalProperties: false,
    },
  },
};

type Seed = NonNullable<TestIdpOptions['seed']>;

/** Returns the seed with attributes for each person. */
export const withAttributes = (seed: Seed, attributes: object): Seed => ({
  ...seed,
  tenants: (seed.tenants ?? []).map((tenant) => ({
    ...tenant,
    persons: (tenant.persons ?? []).map((person) => ({ ...person, attributes: { ...attributes } })),
  })),
});
