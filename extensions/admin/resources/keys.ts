import {
  defineOperation,
  type ExtensionContext,
  instant,
  type KeyState,
  type Operation,
  oneOf,
  type Static,
  strict,
  Type,
} from '../../../lib/extension-door.js';
import { form, viewOf } from './shape/forms.js';

const Key = Type.Object(
  {
    kid: Type.String(),
    alg: oneOf(['RS256', 'ES256']),
    state: oneOf(['next', 'active', 'retiring']),
    announcedAt: Type.Optional(instant()),
    activatedAt: Type.Optional(instant()),
    removeAt: Type.Optional(instant()),
  },
  { $id: 'Key', additionalProperties: false },
);
const Keys = Type.Object({ items: Type.Array(Key) }, strict);

const KEYS = '/keys';

const view = viewOf<KeyState>(Key) as (key: KeyState) => Static<typeof Key>;

export const signingKeys = ({ keys: all }: Pick<ExtensionContext, 'keys'>): readonly Operation[] => {
  const list = async () => ({ items: (await all.list()).map(view) });
  return [
    defineOperation({
      method: 'GET',
      path: KEYS,
      scope: 'idp.keys:read',
      summary: 'Lists the signing keys, without their private parts',
      answer: Keys,
      handle: list,
    }),
    defineOperation({
      method: 'POST',
      path: `${KEYS}/rotate`,
      scope: 'idp.keys:write',
      summary: 'Rotates the signing keys',
      body: form({
        now: Type.Optional(
          Type.Boolean({
            description:
              'Whether new signing keys sign immediately and all earlier signing keys are removed, because signing keys are compromised.',
          }),
        ),
      }),
      answer: Keys,
      errors: ['keys_given', 'key_not_announced'],
      async handle({ body, by }) {
        await all.rotate({ ...body, by });
        return list();
      },
    }),
  ];
};
