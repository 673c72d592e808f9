import { defineClaims } from 'tenant-idp';

interface HrRecord {
  readonly costCentre: string;
  readonly manager: string;
}

/** Creates the claims of the HR system, granted by scope `hr`. If the HR system is slow or unavailable, users sign in without these claims. */
export const hrClaims = (hrUrl: string) =>
  defineClaims({
    name: 'hr',
    load: async ({ person, signal }) => {
      const response = await fetch(`${hrUrl}/people/${encodeURIComponent(person.externalId ?? '')}`, { signal });
      if (!response.ok) throw new Error(`HR answered ${response.status}`);
      return (await response.json()) as HrRecord;
    },
    claims: {
      cost_center: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ data }) => data.costCentre },
      manager: { scope: 'hr', type: 'string', description: 'Manager', in: ['userinfo'], value: ({ data }) => data.manager },
    },
    timeoutMs: 800,
    onError: 'omit',
  });
