// Asks ajv and XGrammar about schemas and texts: reads a JSON file of cases, writes the answers.
//     node judge.mjs CASES ANSWERS [VOCABULARY]
//     [{schema, texts, tokens}] -> [{ajv: [bool] | error, xgrammar: [bool] | error, masks: [hex]}]
import { readFileSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

// The package says that it is an ES module, and is a CommonJS one.
const path = fileURLToPath(import.meta.resolve("@mlc-ai/web-xgrammar"));
const xgrammar = new Module(path);
xgrammar._compile(readFileSync(path, "utf8"), path);
const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = xgrammar.exports;

const [, , casesFile, answersFile, vocabularyFile] = process.argv;
const vocabulary = vocabularyFile && JSON.parse(readFileSync(vocabularyFile));

function ajvSays(schema, texts) {
  try {
    const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: false,
      ownProperties: true });
    addFormats(ajv);
    const isValid = ajv.compile(schema);
    return texts.map((text) => isValid(JSON.parse(text)));
  } catch (error) {
    return String(error.message);
  }
}

async function compilerOf(tokens) {
  const stop = tokens.length;
  const info = await TokenizerInfo.createTokenizerInfo([...tokens.map((t) => t ?? ""), "<stop>"],
    "raw", false, stop + 1, [stop]);
  return GrammarCompiler.createGrammarCompiler(info, false);
}

const compiler = vocabulary && (await compilerOf(vocabulary));

// The lowest ids first.
function hex(bits) {
  const bytes = Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength).toString("hex");
  return bytes.replace(/(.)(.)/g, "$2$1");
}

async function walk(grammar, tokens) {
  const matcher = await GrammarMatcher.createGrammarMatcher(grammar);
  const masks = [];
  for (let i = 0; i <= tokens.length; i++) {
    const bits = await matcher.getNextTokenBitmask();
    masks.push(hex(bits));
    if (i < tokens.length && !matcher.acceptToken(tokens[i])) break;
  }
  matcher.dispose();
  return masks;
}

async function accepts(grammar, text) {
  const matcher = await GrammarMatcher.createGrammarMatcher(grammar, undefined, true);
  const isPrefix = text === "" || matcher._acceptString(text);
  const isWhole = isPrefix && matcher.isTerminated();
  matcher.dispose();
  if (isWhole || !isPrefix) return isWhole;
  const again = await GrammarMatcher.createGrammarMatcher(grammar);
  again._acceptString(text);
  const bits = await again.getNextTokenBitmask();
  again.dispose();
  return Boolean((bits[vocabulary.length >> 5] >>> (vocabulary.length & 31)) & 1);
}

async function xgrammarSays({ schema, texts, tokens }) {
  let grammar;
  try {
    grammar = await compiler.compileJSONSchema(JSON.stringify(schema), true);
    const accepted = [];
    for (const text of texts) accepted.push(await accepts(grammar, text));
    return { xgrammar: accepted, masks: tokens ? await walk(grammar, tokens) : [] };
  } catch (error) {
    return { xgrammar: String(error.message ?? error), masks: [] };
  } finally {
    grammar?.dispose();
  }
}

const answers = [];
for (const one of JSON.parse(readFileSync(casesFile))) {
  const says = compiler ? await xgrammarSays(one) : {};
  answers.push({ ajv: ajvSays(one.schema, one.texts), ...says });
}
writeFileSync(answersFile, JSON.stringify(answers));
