/** Adds a call at the start of each function of this library and of oidc-provider. */
import type { LoadHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type NodePath, transformAsync, type types } from '@babel/core';

/** Paths below the output folder of the compiler, or below oidc-provider's folder. */
const instrumented = /(?:dist\/(?:lib|adapters|extensions)|node_modules\/oidc-provider\/lib)\/.*\.js$/;

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const [path] = instrumented.exec(url) ?? [];
  if (path === undefined || loaded.format !== 'module' || !loaded.source) return loaded;
  const source = new TextDecoder().decode(loaded.source as Uint8Array);
  const transformed = await transformAsync(source, {
    filename: fileURLToPath(url),
    babelrc: false,
    configFile: false,
    compact: false,
    plugins: [
      ({ template }: typeof import('@babel/core')) => {
        const call = template.statement(`globalThis.benchCalled(${JSON.stringify(path)});`);
        return {
          visitor: {
            Function(found: NodePath<types.Function>) {
              found.ensureBlock();
              (found.node.body as types.BlockStatement).body.unshift(call());
            },
          },
        };
      },
    ],
  });
  return { ...loaded, source: transformed?.code ?? source };
};
