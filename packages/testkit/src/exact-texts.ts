/**
 * Entries whose JSON text does not survive being parsed and written again: order of keys, numbers, repeated keys,
 * `__proto__`, escapes. Each names the one before as its parent.
 */
export const exactTexts: readonly { readonly id: string; readonly json: string }[] = [
  {
    id: "escapes",
    json: '{"type":"message","id":"escapes","parentId":null,"timestamp":"t","message":{"role":"user","content":"\\u00e9 \\/ é \u2028 🌳"}}',
  },
  {
    id: "numbers",
    json: '{ "id":"numbers", "type":"custom","parentId":"escapes","timestamp":"t","customType":"n","data":[1.0,1e3,-0,1e400,-1E+400,123456789012345678901234567890,0.1000000000000000055511151231257827] }',
  },
  {
    id: "keys",
    json: '{"type":"x","timestamp":"t","parentId":"numbers","id":"keys","10":1,"2":2,"b":1,"a":2,"same":1,"same":2}',
  },
  {
    id: "proto",
    json: '{"__proto__":{"polluted":true},"type":"x","id":"proto","parentId":"keys","timestamp":"t","constructor":{"prototype":1},"toString":null}',
  },
  {
    id: "surrogates",
    json: '{"type":"x","id":"surrogates","parentId":"proto","timestamp":"t","lone":"\\ud800","pair":"\\ud83c\\udf33","turned":"\\udf33\\ud83c"}',
  },
];
