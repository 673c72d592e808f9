/** house §5: tasks of an extension in addition to answers to requests. */
import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Extension, ExtensionContext, Job } from 'tenant-idp/extension';
import { startIdp } from '../support/service/idp.js';
import { startInstances } from '../support/service/instances.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

describe('an extension', () => {
  const taken: unknown[] = [];
  const heard: unknown[] = [];
  const log: string[] = [];
  let failures = 0;
  let context: ExtensionContext;
  let ill: 'no' | 'yes' | 'throws' = 'no';
  const extension: Extension = {
    name: 'notes',
    events: ['NoteTaken' as never],
    async start(given) {
      context = given;
      given.directory.events.on('NoteTaken' as never, (event) => void heard.push(event));
      log.push(`started, ${await given.keys.sign('note+jwt', {}, 'ES256').then(() => 'with keys')}`);
    },
    deliveries: () => ({
      'notes.mail': async ({ data, attempts }) => {
        if (failures-- > 0) throw new Error('not now');
        taken.push({ data, attempts });
      },
    }),
    health: async () => {
      if (ill === 'throws') throw new Error('who knows');
      return ill === 'yes' ? [{ code: 'mail_stuck', id: '17' }] : [];
    },
    close: async () => void log.push('closed'),
  };
  const service = useIdp({ extensions: [extension] });

  test('is started before the service answers, with its keys', () => {
    expect(log).toEqual(['started, with keys']);
  });

  test('has its deliveries taken, and again after a failure', async () => {
    (await context.work.deliver('notes.mail', { id: 1 })).release();
    await until(() => taken.length === 1);
    failures = 1;
    (await context.work.deliver('notes.mail', { id: 2 }, { batch: 'b' })).release();
    await until(() => taken.length === 2);
    expect(taken).toEqual([
      { data: { id: 1 }, attempts: 0 },
      { data: { id: 2 }, attempts: 1 },
    ]);
    await expect(context.work.deliver('backchannel-logout', {})).rejects.toThrow(TypeError);
  });

  test('emits its events, each once, and no others', async () => {
    const [account] = await service.idp.directory.accounts.candidates('bob@globex.test');
    if (!account) throw new Error('bob is gone');
    const data = { AggregateId: account.person.user.id, Title: 'Milk' };
    const emit = (type: string) => context.work.emit(type as never, account, data as never, 'note 1');
    await emit('NoteTaken');
    await emit('NoteTaken');
    await until(() => heard.length > 0);
    await new Promise((done) => setTimeout(done, 300));
    expect(heard).toEqual([
      expect.objectContaining({ type: 'NoteTaken', data, tid: account.tenant.id, sequence: expect.stringMatching(/^\d{16}$/) }),
    ]);
    await expect(emit('UserDisabled')).rejects.toThrow(TypeError);
  });

  test('seals values for a purpose and a record', () => {
    const seal = context.keys.seal('notes secrets');
    const sealed = seal.seal('note 1', 'a secret');
    expect([sealed.includes('secret'), seal.open('note 1', sealed), seal.isCurrent(sealed)]).toEqual([false, 'a secret', true]);
    for (const wrong of [() => seal.open('note 2', sealed), () => context.keys.seal('notes.others').open('note 1', sealed)])
      expect(wrong).toThrow(expect.objectContaining({ code: 'undecipherable' }));
    expect(seal.hashes('x')).toEqual(context.keys.seal('notes secrets').hashes('x'));
    expect(seal.hashes('x')).not.toEqual(context.keys.seal('notes.others').hashes('x'));
  });

  test('seals for no purpose that does not begin with its name', () => {
    for (const purpose of ['others', 'factors totp', 'notes-too secrets', ' notes', 'notessecrets', ''])
      expect(() => context.keys.seal(purpose)).toThrow(
        new TypeError(`The extension 'notes' has the purpose '${purpose}', which does not begin with its name. Begin it with 'notes '.`),
      );
    for (const purpose of ['notes', 'notes secrets', 'notes.secrets', 'notes:secrets'])
      expect(() => context.keys.seal(purpose)).not.toThrow();
  });

  test('calls only what the operator allows', async () => {
    await expect(context.http.fetch(service.issuer, { timeoutMs: 1000, maxBytes: 1000 })).rejects.toThrow();
  });

  test('signs bytes with the current keys', async () => {
    const data = Buffer.from('no JWT');
    for (const alg of ['RS256', 'ES256'] as const) {
      const { kid, signature, publicKey, alg: by } = await context.keys.signature(data, alg);
      const key = createPublicKey({ key: publicKey, format: 'jwk' });
      expect([kid, by]).toEqual([`test-${alg.toLowerCase()}`, alg]);
      expect(verify('sha256', data, alg === 'RS256' ? key : { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
      expect(Object.keys(publicKey)).not.toContain('d');
    }
  });

  test('cannot rotate keys that were given', async () => {
    await expect(context.keys.rotate()).rejects.toMatchObject({ code: 'keys_given' });
  });

  test('tells what is wrong with it, which stops nobody', async () => {
    ill = 'yes';
    expect(await service.idp.health()).toMatchObject({ status: 'up', problems: [{ code: 'mail_stuck', collection: 'notes', id: '17' }] });
    ill = 'throws';
    expect(await service.idp.health()).toMatchObject({
      status: 'up',
      problems: [{ code: 'extension_unwell', collection: 'notes', id: '' }],
    });
    ill = 'no';
  });
});

test('an extension that does not start stops the start, and is closed with those before it', async () => {
  const log: string[] = [];
  const starting = (name: string, start: () => Promise<void>): Extension => ({ name, start, close: async () => void log.push(name) });
  const extensions = [
    starting('one', async () => {}),
    starting('two', async () => {
      throw new Error('no licence');
    }),
    starting('three', async () => void log.push('three was started')),
  ];
  await expect(startIdp({ extensions })).rejects.toThrow('no licence');
  expect(log).toEqual(['one', 'two']);
});

describe('a job', () => {
  test('runs on one node at a time, comes round, and moves when its node closes', async () => {
    const rounds: string[] = [];
    let together = 0;
    let most = 0;
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    const jobOf = (node: string): Job => ({
      name: 'notes.tidy',
      intervalSeconds: 1,
      async run() {
        most = Math.max(most, ++together);
        rounds.push(node);
        await new Promise((done) => setTimeout(done, 50));
        together -= 1;
        if (rounds.length === 1) throw new Error('the first round fails');
      },
    });
    const shared = { close: async () => {} };
    const nodes = await Promise.all(
      ['a', 'b'].map((node) =>
        startInstances(1, () => ({ artifacts: { ...artifacts, ...shared }, directory: { ...directory, ...shared } }), {
          extensions: [{ name: 'notes', jobs: () => [jobOf(node)] }],
        }),
      ),
    );
    await until(() => rounds.length >= 3);
    const [first] = rounds;
    expect([new Set(rounds).size, most]).toEqual([1, 1]);
    await nodes[first === 'a' ? 0 : 1]?.close();
    await until(() => rounds.at(-1) !== first);
    await nodes[first === 'a' ? 1 : 0]?.close();
    const { length } = rounds;
    await new Promise((done) => setTimeout(done, 1500));
    expect(rounds.length).toBe(length);
  });

  test('is aborted when the service closes', async () => {
    let reason: unknown = 'not aborted';
    const service = await startIdp({
      extensions: [
        {
          name: 'notes',
          jobs: () => [
            {
              name: 'notes.long',
              intervalSeconds: 60,
              run: ({ signal }) =>
                new Promise<void>((done) => {
                  reason = 'running';
                  signal.addEventListener('abort', () => {
                    reason = 'aborted';
                    done();
                  });
                }),
            },
          ],
        },
      ],
    });
    await until(() => reason === 'running');
    await service.close();
    expect(reason).toBe('aborted');
  });
});

describe('at start', () => {
  const of = (members: object) => [{ name: 'one', ...members }] as never;
  test.each<[string, never, RegExp]>([
    [
      'what an extension finds wrong with its own options',
      of({ check: (report: (problem: object) => void) => report({ path: ['retries'], expected: 'a number', received: 'a string' }) }),
      /extensions\[0\]\.retries: expected a number, got a string/,
    ],
    ['a check that fails', of({ check: () => JSON.parse('{') }), /extensions\[0\]\.check: .*SyntaxError/],
    [
      'deliveries of another name',
      of({ deliveries: () => ({ mail: async () => {} }) }),
      /extensions\.one\.deliveries\["mail"\]: expected the extension's name/,
    ],
    [
      'a job of another name',
      of({ jobs: () => [{ name: 'two.tidy', intervalSeconds: 1, run() {} }] }),
      /extensions\.one\.jobs\["two\.tidy"\]: expected the extension's name/,
    ],
    ['a job without an interval', of({ jobs: () => [{ name: 'one.tidy', run() {} }] }), /one\.tidy.*intervalSeconds/],
    [
      'a job that does nothing',
      of({ jobs: () => [{ name: 'one.tidy', intervalSeconds: 1 }] }),
      /extensions\.one\.jobs: .*function run.*, got an array/,
    ],
    ['jobs that are no list', of({ jobs: () => ({}) }), /extensions\.one\.jobs: expected a list of jobs.*got an object/],
    ['an event of the service', of({ events: ['UserCreated'] }), /event UserCreated.*the service and one/],
    ['an event that is no name', of({ events: ['note taken'] }), /extensions\[0\]\.events/],
  ])('%s is refused', async (_, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });

  test('all that is wrong is told at once', async () => {
    const extensions = of({ check: (report: (problem: object) => void) => report({ expected: 'more' }) });
    await expect(startIdp({ extensions, locales: ['xx'] as never })).rejects.toMatchObject({
      problems: expect.arrayContaining([
        expect.objectContaining({ path: 'extensions[0]', expected: 'more' }),
        expect.objectContaining({ path: expect.stringContaining('locales') }),
      ]),
    });
  });
});
