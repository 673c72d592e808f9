/**
 * Code blocks of the documentation, and examples of the API: each compiles unchanged, so no name in it is undefined. Blocks that start a
 * server serve.
 */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import typescript from 'typescript';
import { needsPackages } from '../relying-parties/applications.js';
import { freePort } from '../support/service/free-port.js';
import { until } from '../support/time/until.js';
import { type Example, examples } from './examples.js';
import { pageAt, pages } from './pages.js';

const compiler = resolve('node_modules/@typescript/native/bin/tsc');
const codeBlocks = pages.flatMap(({ path, codeBlocks: blocks }) =>
  blocks.filter(({ language }) => language === 'ts').map(({ section, code }) => ({ path, section, code })),
);
/** Blocks that compile without other packages. The tests of relying parties compile the other blocks with their packages. */
const compilable = codeBlocks.filter(({ path, code }) => path !== 'docs/connect-an-application.md' || !needsPackages(code));
const [first] = pageAt('README.md').codeBlocks.filter(({ language }) => language === 'ts');
/** Blocks that serve, need no other server, and write no file. */
const serving = codeBlocks.filter(
  ({ code }) =>
    /listen\((3000|\{ port: 3000)\b/.test(code) &&
    !/from '(ioredis|node:test|tenant-idp\/testing|tenant-idp\/adapters\/(mongo|postgres|sqlite))'/.test(code),
);

const modern = { target: typescript.ScriptTarget.ES2023, module: typescript.ModuleKind.ESNext };

const [one = '', other = ''] = serving.map(({ code }) => code);
const wrong = [one.replaceAll('middleware()', 'nothing'), other.replaceAll('issuer', 'nothing')];

/** Folder inside the package, so that its code can import the package by name, and inside `dist`, where no file is kept. */
let folder: string;
/** Output of the compiler about the code in each folder of one project. */
let complaints: Readonly<Record<'blocks' | 'examples' | 'wrong', string>>;
beforeAll(async () => {
  await mkdir('dist', { recursive: true });
  folder = await mkdtemp('dist/readme-');
  const project = join(folder, 'types');
  await Promise.all([
    writeSources(join(project, 'blocks'), compilable),
    writeSources(join(project, 'examples'), examples),
    writeSources(
      join(project, 'wrong'),
      wrong.map((code) => ({ path: 'wrong', code })),
    ),
  ]);
  const lines = (await compile(project)).split(/\n(?!\s)/);
  const about = (name: string) => lines.filter((line) => line.startsWith(`${join(project, name)}/`)).join('\n');
  complaints = { blocks: about('blocks'), examples: about('examples'), wrong: about('wrong') };
  expect(lines.filter((line) => line !== '' && !line.startsWith(`${project}/`))).toEqual([]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function writeSources(place: string, sources: readonly Pick<Example, 'path' | 'code'>[]): Promise<void> {
  await mkdir(place, { recursive: true });
  const nameOf = (path: string, index: number) => `${path.replace(/\W+/g, '-')}-${index + 1}.ts`;
  await Promise.all(sources.map(({ path, code }, index) => writeFile(join(place, nameOf(path, index)), code)));
}

/** Returns the output of the compiler about a folder, with the settings of the repository. */
async function compile(project: string): Promise<string> {
  const compilerOptions = { noEmit: true, rootDir: '.' };
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({ extends: resolve('tsconfig.json'), compilerOptions, include: ['**/*.ts'], exclude: [] }),
  );
  return new Promise((done) =>
    execFile(process.execPath, [compiler, '-p', project, '--pretty', 'false'], (_error, stdout) => done(stdout)),
  );
}

describe('the code of the documentation', () => {
  test('compiles as it stands: a reader meets no undefined name', () => {
    expect(codeBlocks.length).toBeGreaterThan(15);
    expect(complaints.blocks).toBe('');
  });

  test('has an example for each function that a door exports, which compiles as well', async () => {
    const { exports } = JSON.parse(await readFile('package.json', 'utf8')) as { exports: Record<string, string> };
    const doors = Object.keys(exports).filter((door) => !door.endsWith('.json'));
    const members: Record<string, unknown>[] = await Promise.all(doors.map((door) => import(door.replace(/^\./, 'tenant-idp'))));
    const functions = members
      .flatMap(Object.entries)
      .flatMap(([name, value]) => (typeof value === 'function' && /^[a-z]/.test(name) ? name : []));
    expect(functions.length).toBeGreaterThan(6);
    expect(functions.filter((name) => !examples.some((example) => example.of === name))).toEqual([]);
    expect(examples.filter(({ code }) => !code.includes('import'))).toEqual([]);
    expect(complaints.examples).toBe('');
  });

  test('is TypeScript, where it could be JavaScript: that is compiled', () => {
    const others = pages.flatMap(({ path, codeBlocks: blocks }) => blocks.map(({ language }) => `${path}: ${language}`));
    expect(others.filter((block) => /: (|js|javascript|typescript|jsx|tsx)$/.test(block))).toEqual([]);
  });

  test('would not compile with a name that is not exported, or an option that does not exist', () => {
    expect(complaints.wrong).toMatch(/wrong-1\.ts.*\n(.*\n)*.*wrong-2\.ts/);
  });

  test('embeds in at most 15 lines', () => {
    expect(first?.section).toBe('Embed it');
    expect(first?.code.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  });

  describe('serves', () => {
    const blocks = serving.map(({ path, section, code }, index) => ({ name: `${path}, ${section}`, index, code }));
    let bases: readonly { readonly port: number; readonly source: string }[];
    let program: Program | undefined;
    beforeAll(async () => {
      bases = [];
      for (const { code } of blocks) {
        const port = await freePort();
        const source = code.replace(/\blocalhost:3000\b/g, `localhost:${port}`).replace(/\b3000\b/g, String(port));
        bases = [...bases, { port, source }];
      }
      // One process runs all blocks, because each process has to load the service.
      const files = blocks.map(({ index }) => join(folder, `embed-${index + 1}.mjs`));
      await Promise.all(files.map((file, index) => writeFile(file, compiled(bases[index]?.source ?? ''))));
      program = run(
        join(folder, 'embed.mjs'),
        `for (const file of ${JSON.stringify(files.map((file) => resolve(file)))}) await import(file);`,
      );
    });
    afterAll(() => program?.end());

    test.each(blocks)('$name: block $index', async ({ index }) => {
      const { port = 0, source = '' } = bases[index] ?? {};
      expect(source).toMatch(new RegExp(`listen\\((\\{ port: )?${port}\\b`));
      const [, issuer = ''] = source.match(/issuer: '([^']+)'/) ?? [];
      const base = `http://localhost:${port}${new URL(issuer).pathname.replace(/\/$/, '')}`;
      const discovery = await program!.answer(`${base}/.well-known/openid-configuration`);
      expect([discovery.status, (await discovery.json()) as object]).toEqual([200, expect.objectContaining({ issuer })]);
      expect((await program!.answer(`http://localhost:${port}/somewhere-else`)).status).toBe(404);
    });
  });

  test('prints something, wherever a block is a program', () => {
    const programs = codeBlocks.filter(({ code }) => /\bawait /.test(code.replace(/^export .*[\s\S]*/m, '')) && !/^export /m.test(code));
    expect(programs.length).toBeGreaterThan(25);
    // These blocks may print nothing: a test has an outcome, the client of a browser leaves the page, and an application answers.
    const silent = programs.filter(({ code }) => !/console\.log\(|assert|signinRedirect|res\.json\(/.test(code));
    expect(silent.map(({ path, section, code }) => [path, section, code])).toEqual([]);
  });

  const printing = codeBlocks.filter(({ code }) => /console\.log\(.*\); \/\/ /.test(code) && !/https:|tenant-idp\/adapters/.test(code));
  test.each(printing)('$path, $section: the block prints what it says', async ({ code }) => {
    const source = code.replace(/\b3000\b/g, String(await freePort()));
    const program = run(join(folder, `prints-${randomUUID()}.mjs`), compiled(source));
    const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(([, text]) => text);
    try {
      expect((await program.printed(said.length)).slice(0, said.length)).toEqual(said);
    } finally {
      program.end();
    }
  });

  const ownTests = [
    {
      of: 'tokens',
      from: "from 'tenant-idp/testing'",
      right: '{ client, user,',
      wrong: "{ client, user: { ...user, password: 'another' },",
      problem: /The sign-in stopped at \/idp\/interaction\/[\s\S]*That e-mail and password[\s\S]*^# fail 1$/m,
    },
    {
      of: 'a page',
      from: 'createBrowser',
      right: '{ password: user.devPassword }',
      wrong: "{ password: 'another' }",
      problem: /^# fail 1$/m,
    },
  ] as const;
  test.each(ownTests)(
    'docs/embed.md: the test of $of passes, and fails for a wrong password',
    async ({ from, right, wrong: other, problem }) => {
      const { code = '' } = codeBlocks.find(({ code: text }) => text.includes(from) && text.includes('node:test')) ?? {};
      expect(code).toContain(right);
      for (const [text, isMeant] of [
        [code, /^# pass 1$/m],
        [code.replace(right, other), problem],
      ] as const) {
        const file = join(folder, 'own.mjs');
        await writeFile(file, compiled(text.replace(/\b3000\b/g, String(await freePort()))));
        const args = ['--test-reporter=tap', file];
        expect(await new Promise<string>((done) => execFile(process.execPath, args, (_error, stdout) => done(stdout)))).toMatch(isMeant);
      }
    },
  );

  test('the embed block signs in: its client gets as far as the page', async () => {
    const port = await freePort();
    const program = run(join(folder, 'embed-client.mjs'), compiled(first?.code.replace(/\b3000\b/g, String(port)) ?? ''));
    try {
      const url = new URL(`http://localhost:${port}/connect/authorize?client_id=web&response_type=code&scope=openid+profile`);
      url.searchParams.set('redirect_uri', 'http://localhost:3001/callback');
      url.searchParams.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
      url.searchParams.set('code_challenge_method', 'S256');
      const { status, headers } = await program.answer(url.href);
      expect([status, headers.get('location')]).toEqual([303, expect.stringMatching(/\/idp\/interaction\//)]);
    } finally {
      program.end();
    }
  });
});

const compiled = (source: string): string => typescript.transpileModule(source, { compilerOptions: modern }).outputText;

interface Program {
  /** Waits for the server of the program, and returns its answer. */
  answer(url: string): Promise<Response>;
  /** Returns the lines on stdout as soon as there are so many, or the program has ended. @throws if the program ended with an error */
  printed(lines: number): Promise<readonly string[]>;
  end(): void;
}

/** Writes a program and runs it. */
function run(file: string, source: string): Program {
  writeFileSync(file, source);
  let output = '';
  let shown = '';
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (data: Buffer) => (shown += data.toString()));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  return {
    answer: (url) =>
      until(async () => {
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${output}`);
        return fetch(url, { redirect: 'manual' }).catch(() => undefined);
      }) as Promise<Response>,
    printed: (lines) =>
      until(
        () => {
          if (child.exitCode) throw new Error(`ended with ${child.exitCode}: ${output}`);
          return shown.split('\n').slice(0, -1);
        },
        (found) => found.length >= lines || child.exitCode !== null,
      ),
    end: () => void child.kill(),
  };
}
