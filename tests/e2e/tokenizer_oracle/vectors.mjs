// node vectors.mjs DIR...: for each DIR, what Hugging Face's library makes of DIR/texts.json by
// DIR/tokenizer.json, as vectors for golden_tokenizer in DIR/vectors.json. A file that it refuses
// gives none, and texts that it fails on are left out.
import fs from "node:fs";
import { createRequire } from "node:module";

const { Tokenizer } = createRequire(import.meta.url)("@anush008/tokenizers");

async function idsOf(tokenizer, text, addSpecialTokens) {
    return Array.from((await tokenizer.encode(text, null, { addSpecialTokens })).getIds());
}

async function vectorOf(tokenizer, text) {
    const ids = await idsOf(tokenizer, text, false);
    const withSpecial = await idsOf(tokenizer, text, true);
    return {
        text,
        ids,
        ids_with_special: withSpecial,
        decoded: await tokenizer.decode(ids, false),
        decoded_skip_special: await tokenizer.decode(withSpecial, true),
    };
}

for (const dir of process.argv.slice(2)) {
    let tokenizer;
    try {
        tokenizer = await Tokenizer.fromFile(`${dir}/tokenizer.json`);
    } catch {
        continue;
    }
    const vectors = [];
    for (const text of JSON.parse(fs.readFileSync(`${dir}/texts.json`, "utf8")))
        vectors.push(await vectorOf(tokenizer, text).catch(() => null));
    fs.writeFileSync(`${dir}/vectors.json`, JSON.stringify(vectors.filter((v) => v)));
}
