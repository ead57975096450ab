import { readSync } from "node:fs";

// Layout of LMDB's meta pages, data version 2 (mdb.c, MDB_page_header, MDB_meta and MDB_db, 64 bit, native order).
const layout = {
  magic: 0xbeefc0de,
  dataVersion: 2,
  magicOffset: 24,
  versionOffset: 28,
  pageBytesOffset: 48,
  freeRootOffset: 88,
  mainRootOffset: 136,
  lastPageOffset: 144,
  txnIdOffset: 152,
  bytes: 168,
  noRoot: 0xffffffffffffffffn,
} as const;

/** What LMDB's two meta pages say: the newer one is the store's newest commit. Page numbers start at 0. */
export interface MetaPages {
  readonly hasMagic: boolean;
  readonly isKnownVersion: boolean;
  readonly pageBytes: number;
  /** Root pages of the free list and of the catalogue of tables; without those that are empty. */
  readonly roots: readonly bigint[];
  /** The last page that was ever in use; commits write behind it, or into pages before it that were freed. */
  readonly lastPage: number;
}

/** Reads the meta pages of an open data file; what is missing in a short file counts as zeros. */
export function readMetaPages(fileDescriptor: number): MetaPages {
  const readMeta = (position: number): DataView => {
    const bytes = new Uint8Array(layout.bytes);
    readSync(fileDescriptor, bytes, 0, bytes.length, position);
    return new DataView(bytes.buffer);
  };
  const first = readMeta(0);
  const pageBytes = first.getUint32(layout.pageBytesOffset, true);
  const second = readMeta(pageBytes);
  const txnId = (page: DataView): bigint => page.getBigUint64(layout.txnIdOffset, true);
  const newest = txnId(first) > txnId(second) ? first : second;
  return {
    hasMagic: [first, second].every((page) => page.getUint32(layout.magicOffset, true) === layout.magic),
    // The upper half of the version field holds flags.
    isKnownVersion: (first.getUint32(layout.versionOffset, true) & 0xffff) === layout.dataVersion,
    pageBytes,
    roots: [layout.freeRootOffset, layout.mainRootOffset]
      .map((offset) => newest.getBigUint64(offset, true))
      .filter((root) => root !== layout.noRoot),
    lastPage: Number(newest.getBigUint64(layout.lastPageOffset, true)),
  };
}
