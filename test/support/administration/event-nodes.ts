/** Starts the nodes that dispatch events and are killed on the way. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { runtimeWarning } from '../service/example.js';
import type { EventNodeSettings, FromEventNode } from './event-node.js';

export interface EventNode {
  readonly node: ChildProcess;
  readonly issuer: string;
}

/** @param hear receives the messages of the node, in their order. */
export async function startEventNode(settings: EventNodeSettings, hear: (message: FromEventNode) => void = () => {}): Promise<EventNode> {
  const node = fork(new URL('./event-node.js', import.meta.url), [JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaints = '';
  node.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text.replace(runtimeWarning, '');
  });
  const ready = new Promise<string>((resolve) => {
    node.on('message', (message: FromEventNode) => {
      hear(message);
      if ('ready' in message) resolve(message.issuer);
    });
  });
  const ended = once(node, 'close').then(([code, signal]) =>
    Promise.reject(new Error(`The node ended with ${code ?? signal} before it was asked to: ${complaints}`)),
  );
  const issuer = await Promise.race([ready, ended]);
  ended.catch(() => {});
  return { node, issuer };
}
