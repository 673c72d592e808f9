import { expect, test } from '@jest/globals';
import { bare, expectInOrder } from './pinned.js';

test('an access token’s value and payload come from getValueAndPayload', () => {
  for (const kind of ['AccessToken', 'ClientCredentials']) expect(bare[kind].prototype.getValueAndPayload).toEqual(expect.any(Function));
  expectInOrder(
    'models/base_model.js',
    'const { value, payload } = await this.getValueAndPayload()',
    'this.adapter.upsert(this.jti, payload',
    'return value',
  );
  expectInOrder('models/base_model.js', 'static async find(value', 'this.adapter.find(value)');
});
