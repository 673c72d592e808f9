/** What all parts of a reader of metadata share: where they are, what is wrong there, and what has no effect. */

import type { Fault } from '../service-providers/errors.js';
import { attribute } from '../xml/elements.js';
import { MalformedXml } from '../xml/malformed.js';
import { booleanAttribute } from '../xml/values.js';
import type { Warning } from './description.js';

/** What is known beside the document. */
export interface ReaderContext {
  /** Of the service provider that is meant, where the document has several, or is of one that is registered. */
  readonly entityId?: string | undefined;
  /** Members that an administrator gave: what the document says of them is not read. */
  readonly overridden: ReadonlySet<string>;
  /** Whether it is registered with signing certificates, which it then has to have in the document as well. */
  readonly hadCertificates?: boolean;
  /** Whether it is taken though its `validUntil` has passed. @default false */
  readonly mayBeOver?: boolean;
  readonly production: boolean;
  /** Milliseconds since the epoch, by the time that all nodes share. */
  readonly now: number;
}

/** What is told at most. */
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

  /** Reads a flag. Some products write `True`, which has one meaning. @param leftOut as {@link part} has it */
  flag(element: Element, name: string, path: string, leftOut?: Fault[]): boolean | undefined {
    const word = attribute(element, name)?.trim().toLowerCase();
    if (word === 'true' || word === 'false') return word === 'true';
    return this.part(`${path}/@${name}`, 'a boolean', () => booleanAttribute(element, name), leftOut);
  }

  /** Reads a part; undefined for a malformed part. @param leftOut gets a malformed part that nothing needs. @default the part is a fault */
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
