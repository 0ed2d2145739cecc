// Objects as JSON on stdin, a line of each that does not fit the JSON schema of its kind on stdout.
const objects = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const object of objects) {
  const kinds = require(`kubernetes-models/${object.apiVersion}`);
  try {
    new kinds[object.kind](object).validate();
  } catch (error) {
    console.log(`${object.kind}/${object.metadata.name}: ${error.message}`);
  }
}
