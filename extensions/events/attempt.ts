import { type ExtensionContext, IdpError } from '../../lib/extension-door.js';
import type { WebhookRow } from './records.js';
import { signedHeaders } from './signature.js';

/** The outcome of an attempt. */
export interface Outcome {
  readonly isTaken: boolean;
  readonly status?: number;
  readonly problem?: string;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;

/** Sends an event once. Only the status of the answer counts. A redirect is not followed. */
export type Attempt = (webhook: WebhookRow, event: { readonly id: string }) => Promise<Outcome>;

export const createAttempt =
  (context: Pick<ExtensionContext, 'http' | 'service'>, open: (webhook: WebhookRow) => readonly string[]): Attempt =>
  async (webhook, event) => {
    const body = JSON.stringify(event);
    try {
      const { status } = await context.http.fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/cloudevents+json; charset=utf-8',
          'user-agent': 'tenant-idp',
          ...signedHeaders(event.id, new Date(context.service.now()), body, open(webhook)),
        },
        body,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_ANSWER_BYTES,
        allowLoopback: !context.service.production,
      });
      const isTaken = status >= 200 && status < 300;
      return { isTaken, status, ...(isTaken ? {} : { problem: `the receiver answered ${status}` }) };
    } catch (error) {
      if (IdpError.is(error, 'undecipherable')) return { isTaken: false, problem: 'the secrets cannot be read' };
      return { isTaken: false, problem: error instanceof Error ? error.message.slice(0, 500) : 'no answer' };
    }
  };
