/** State of a reader of metadata: its context, and the faults, notes and warnings so far. */

import type { Fault } from '../service-providers/errors.js';
import { attribute } from '../xml/elements.js';
import { MalformedXml } from '../xml/malformed.js';
import { booleanAttribute } from '../xml/values.js';
import type { Warning } from './description.js';

/** Facts that the document does not have. */
export interface ReaderContext {
  /** entityID to look for: of a registered service provider, or one of several entityIDs in the document. */
  readonly entityId?: string | undefined;
  /** Members that an administrator gave. The reader ignores these members in the document. */
  readonly overridden: ReadonlySet<string>;
  /** Whether the service provider is registered with signing certificates. The document must then have a signing certificate too. */
  readonly hadCertificates?: boolean;
  /** Whether expired metadata is accepted. @default false */
  readonly mayBeOver?: boolean;
  readonly production: boolean;
  /** Milliseconds since the epoch, by the time that all nodes share. */
  readonly now: number;
}

/** Faults, notes and warnings of each kind, at most. */
const MOST = 20;

export class Reading {
  readonly faults: Fault[] = [];
  readonly notes: string[] = [];
  readonly warnings: Warning[] = [];

  constructor(readonly context: ReaderContext) {}

  fault(path: string, expected: string): void {
    if (this.faults.length < MOST) this.faults.push({ path, expected });
  }

  note(path: string, text: string): void {
    if (this.notes.length < MOST) this.notes.push(`${path}: ${text}`);
  }

  warn(path: string, reason: string): void {
    if (this.warnings.length < MOST) this.warnings.push({ path, reason });
  }

  /** Adds a warning for each part that is left out, or a fault if no valid part remains. */
  leftOut(parts: readonly Fault[], isSomethingLeft: boolean): void {
    for (const { path, expected } of parts)
      if (isSomethingLeft) this.warn(path, `It is left out, because it is not ${expected}.`);
      else this.fault(path, expected);
  }

  /** Reads a flag. Accepts `True`, which some products write, because it has one meaning. @param leftOut see {@link part} */
  flag(element: Element, name: string, path: string, leftOut?: Fault[]): boolean | undefined {
    const word = attribute(element, name)?.trim().toLowerCase();
    if (word === 'true' || word === 'false') return word === 'true';
    return this.part(`${path}/@${name}`, 'a boolean', () => booleanAttribute(element, name), leftOut);
  }

  /** Reads a part; undefined for a malformed part. @param leftOut gets the malformed part, if nothing needs it. @default the malformed part is a fault */
  part<Value>(path: string, expected: string, read: () => Value, leftOut?: Fault[]): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof MalformedXml)) throw error;
      if (leftOut) leftOut.push({ path, expected });
      else this.fault(path, expected);
      return undefined;
    }
  }
}
