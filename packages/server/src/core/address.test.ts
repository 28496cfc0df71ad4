import assert from "node:assert/strict";
import { BlockList, isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { NO_ADDRESSES, NOT_PUBLIC, PUBLIC } from "../../test/support/address-table.ts";
import {
  type AddressRules,
  type Cidr,
  countedNetwork,
  embeddedIpv4,
  isPublicAddress,
  isWithin,
  mayConnect,
  parseAddress,
  parseCidr,
} from "./address.ts";

const NOTHING: AddressRules = { allow: [], nat64: [] };

const byte = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join("."));
const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
const groups = (count: number) =>
  fc.array(group, { minLength: count, maxLength: count }).map((each) => each.join(":"));

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert.ok(parsed, text);
  return parsed;
}

test("[delivery.url.addresses] no address of a special block is public, from its first to its last", () => {
  const wrong = NOT_PUBLIC.filter((address) => {
    assert.notEqual(isIP(address), 0, `${address} is meant as an address`);
    return isPublicAddress(address) || mayConnect(NOTHING, address);
  });
  assert.deepEqual(wrong, []);
});

test("the neighbours of the special blocks are public", () => {
  const wrong = PUBLIC.filter((address) => !isPublicAddress(address));
  assert.deepEqual(wrong, []);
});

test("[delivery.url.addresses] a malformed address is not public, even if it could be repaired", () => {
  for (const text of NO_ADDRESSES) {
    assert.equal(parseAddress(text), undefined, JSON.stringify(text));
    assert.equal(isPublicAddress(text), false, JSON.stringify(text));
    assert.equal(mayConnect({ ...NOTHING, allow: [cidr("0.0.0.0/0"), cidr("::/0")] }, text), false);
  }
});

test("[delivery.url.addresses] an IPv4 address that an IPv6 address carries makes none public", () => {
  const carriers = [
    "::",
    "::ffff:",
    "::ffff:0:",
    "64:ff9b::",
    "64:ff9b:1::",
    "fe80::5efe:",
    "2002::",
    "2001::",
    "2001:0:4136:e378::",
    "2a00:1450::5efe:",
    "2a00:1450::200:5efe:",
  ];
  fc.assert(
    fc.property(ipv4, fc.constantFrom(...carriers), (inner, carrier) => {
      assert.notEqual(parseAddress(carrier + inner), undefined);
      assert.equal(isPublicAddress(carrier + inner), false);
    }),
  );
  fc.assert(
    fc.property(ipv4, groups(5), (inner, rest) => {
      const [a = 0, b = 0, c = 0, d = 0] = inner.split(".").map(Number);
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      assert.equal(isPublicAddress(`2002:${hex}:${rest}`), false);
    }),
  );
});

/** The same registry in an independent matcher. */
const SPECIAL = new BlockList();
for (const [address, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  SPECIAL.addSubnet(address, bits, "ipv4");
}
const UNICAST = new BlockList();
UNICAST.addSubnet("2000::", 3, "ipv6");
for (const [address, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const) {
  SPECIAL.addSubnet(address, bits, "ipv6");
}

test("any IPv4 address is judged as the registry has it", () => {
  const near = fc.constantFrom(...NOT_PUBLIC.filter((address) => isIP(address) === 4));
  const neighbour = fc
    .tuple(near, fc.nat(3), byte)
    .map(([address, at, value]) => address.split(".").with(at, String(value)).join("."));
  fc.assert(
    fc.property(fc.oneof(ipv4, neighbour), (address) => {
      assert.equal(isPublicAddress(address), !SPECIAL.check(address, "ipv4"), address);
    }),
    { numRuns: 5_000 },
  );
});

test("any IPv6 address is judged as the registry has it", () => {
  const start = fc.constantFrom("2001", "2002", "2620", "3fff", "2001:db8", "2620:4f", "2000");
  const near = fc
    .tuple(start, groups(6))
    .map(([head, tail]) => `${head}:${tail}`.split(":").slice(0, 7).concat("1").join(":"));
  const tunnel = fc
    .tuple(groups(3), fc.constantFrom("0", "0000", "200", "0200", "100", "2"), groups(2))
    .map(([net, fifth, inner]) => `2a00:${net}:${fifth}:5efe:${inner}`);
  fc.assert(
    fc.property(fc.oneof(groups(8), near, tunnel), (address) => {
      const isUnicast = UNICAST.check(address, "ipv6") && !SPECIAL.check(address, "ipv6");
      const isTunnel = /:0*(?:0|200):0*5efe:\w+:\w+$/.test(address);
      assert.equal(isPublicAddress(address), isUnicast && !isTunnel, address);
    }),
    { numRuns: 5_000 },
  );
});

test("an address is what the platform takes for one, without zones", () => {
  const letters = fc.constantFrom(..."0127f8aF:::....%xg".split(""));
  const text = fc.array(letters, { maxLength: 20 }).map((each) => each.join(""));
  const nearly = fc.tuple(fc.nat(7), fc.nat(7), fc.boolean()).map(([head, tail, dotted]) => {
    const ending = dotted ? ["1.2.3.4"] : [];
    return `${Array(head).fill("1").join(":")}::${[...Array(tail).fill("f"), ...ending].join(":")}`;
  });
  fc.assert(
    fc.property(fc.oneof(text, nearly, ipv4, groups(8), groups(7)), (each) => {
      const family = each.includes("%") ? 0 : isIP(each);
      assert.equal(parseAddress(each)?.length ?? 0, { 0: 0, 4: 4, 6: 16 }[family], each);
    }),
    { numRuns: 20_000 },
  );
});

test("an address has the same bytes in every spelling", () => {
  const bytes = [...Buffer.from("20010db8000000000000000000000001", "hex")];
  for (const text of ["2001:db8::1", "2001:0DB8:0:0::0001", "2001:db8:0:0:0:0:0.0.0.1"]) {
    assert.deepEqual([...(parseAddress(text) ?? [])], bytes, text);
  }
  assert.deepEqual([...(parseAddress("192.0.2.7") ?? [])], [192, 0, 2, 7]);
  assert.deepEqual([...(parseAddress("1:2:3:4:5:6:7::") ?? [])].at(13), 7);
});

test("a network is its address and its bits, with nothing after them", () => {
  for (const text of ["10.0.0.0/8", "127.0.0.1/32", "0.0.0.0/0", "fd00::/8", "::1/128", "::/0"]) {
    assert.ok(parseCidr(text), text);
  }
  const wrong = [
    "10.0.0.0",
    "10.0.0.0/",
    "/8",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "10.0.0.0/8 ",
    "10.0.0.1/8",
    "10.0.0.0/6",
    "10.0.0.0/8/8",
    "10/8",
    "::/129",
    "fd00::1/64",
    "::/1e1",
    "example.com/8",
    "fe80::%eth0/64",
    "10.0.0.0/-1",
    "10.0.0.0/255.0.0.0",
    "",
  ];
  for (const text of wrong) assert.equal(parseCidr(text), undefined, text);
});

test("a network holds the addresses of its own family alone", () => {
  const networks = [cidr("127.0.0.0/8"), cidr("10.1.128.0/17"), cidr("fd12:3400::/23")];
  for (const address of ["127.0.0.1", "127.255.255.255", "10.1.128.0", "10.1.255.255"]) {
    assert.ok(isWithin(networks, address), address);
  }
  for (const address of ["fd12:3400::", "fd12:35ff:ffff::1"]) {
    assert.ok(isWithin(networks, address), address);
  }
  const outside = [
    "128.0.0.0",
    "10.1.127.255",
    "10.2.0.0",
    "fd12:3600::",
    "fd12:33ff::1",
    "nothing",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::127.0.0.1",
  ];
  for (const address of outside) assert.ok(!isWithin(networks, address), address);
  assert.ok(!isWithin([cidr("::/0")], "127.0.0.1"));
});

test("the operator's networks are reachable besides the public ones, and no others", () => {
  const rules = { allow: [cidr("10.1.0.0/16"), cidr("fd00:1::/32")], nat64: [] };
  for (const address of ["10.1.0.1", "fd00:1::7", "8.8.8.8", "2606:4700::1111"]) {
    assert.ok(mayConnect(rules, address), address);
  }
  for (const address of ["10.2.0.1", "fd00:2::7", "127.0.0.1", "::ffff:10.1.0.1"]) {
    assert.ok(!mayConnect(rules, address), address);
  }
});

test("[delivery.url.addresses] behind a NAT64 prefix of the operator the IPv4 address inside is judged", () => {
  const allow = [cidr("10.1.0.0/16")];
  // The second one lies in public space, where the address by itself would pass.
  for (const prefix of ["64:ff9b::", "2a00:1450:64::"]) {
    const rules = { allow, nat64: [cidr(`${prefix}/96`)] };
    for (const inner of ["8.8.8.8", "1.1.1.1", "10.1.2.3"]) {
      assert.ok(mayConnect(rules, prefix + inner), prefix + inner);
    }
    for (const inner of ["127.0.0.1", "10.2.0.1", "169.254.169.254", "168.63.129.16", "0.0.0.0"]) {
      assert.ok(!mayConnect(rules, prefix + inner), prefix + inner);
    }
  }
  const several = { allow, nat64: [cidr("64:ff9b::/96"), cidr("2a00:1450:64::/96")] };
  for (const outside of ["8.8.8.8", "2a00:1450:65::1", "10.1.2.3"]) {
    assert.ok(
      mayConnect(several, outside),
      "an address outside the translators is judged by itself",
    );
  }
  assert.ok(!mayConnect(several, "2a00:1450:64::127.0.0.1"), "of each translator");
  assert.equal(mayConnect({ allow, nat64: [] }, "64:ff9b::8.8.8.8"), false);
  const prefix = cidr("64:ff9b::/96");
  assert.equal(embeddedIpv4(prefix, "64:ff9b::102:304"), "1.2.3.4");
  assert.equal(embeddedIpv4(prefix, "64:ff9b::1:0:0"), undefined);
  assert.equal(embeddedIpv4(prefix, "1.2.3.4"), undefined);
  assert.equal(embeddedIpv4(cidr("64:ff9b::/64"), "64:ff9b::102:304"), undefined);
});

test("[ours.limit.rate] addresses of one IPv6 /64 network count as one client, and of two networks as two", () => {
  const of = countedNetwork;
  assert.equal(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
  assert.notEqual(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
  assert.notEqual(of("2001:db8:112:1::1"), of("2001:db8:1:1201::1"));
  assert.notEqual(of("2001:db8:0111:0203::1"), of("2001:db8:1101:0203::1"));
  assert.equal(of("fe80::1%eth0"), of("fe80::2%eth0"));
  assert.notEqual(of("192.0.2.1"), of("192.0.2.2"));
  // A listener for both families writes IPv4 this way: neither one network nor new peers.
  assert.equal(of("::ffff:192.0.2.1"), "192.0.2.1");
  assert.notEqual(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
  for (const text of ["", "unix", "300.0.0.1"]) assert.equal(of(text), text);
});
