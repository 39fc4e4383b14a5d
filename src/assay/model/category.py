"""Categories of skills."""

import re
from enum import StrEnum


class Category(StrEnum):
    """The category of a skill: the one its author declares, else derived from its name and description."""

    DEVELOPMENT = "development"
    TESTING = "testing"
    DEVOPS = "devops"
    SECURITY = "security"
    DATA = "data"
    AI = "ai"
    DOCUMENTS = "documents"
    DESIGN = "design"
    WRITING = "writing"
    RESEARCH = "research"
    PRODUCTIVITY = "productivity"
    BUSINESS = "business"
    OTHER = "other"


# In order of precedence: narrow categories before wide ones.
_WORDS = {
    Category.SECURITY: r"secur\w*|vulnerab\w*|pentest\w*|threat\w*|malware|owasp|forensic\w*|exploit\w*",
    Category.TESTING: r"tests?|testing|playwright|pytest|jest|cypress|e2e|qa|coverage",
    Category.DEVOPS: r"docker|kubernetes|k8s|helm|terraform|ansible|ci/?cd|deploy\w*|aws|azure|gcp|cloud|devops",
    Category.DOCUMENTS: r"pdfs?|docx|xlsx|pptx|spreadsheets?|excel|word|powerpoint|slides|invoices?|ocr",
    Category.DESIGN: r"design\w*|ui|ux|figma|css|tailwind|art|images?|svg|gifs?|themes?|brand\w*",
    Category.AI: r"llms?|prompts?|agents?|mcp|rag|embeddings?|fine-?tun\w*|models?|machine learning|claude|openai",
    Category.DATA: r"data|sql|postgres\w*|database\w*|csv|pandas|analytics|charts?|visuali[sz]\w*|etl|statistics",
    Category.RESEARCH: r"research\w*|papers?|arxiv|science|scientific|bio\w*|chem\w*|physics|academic|literature",
    Category.WRITING: r"writ\w*|blog\w*|articles?|copywriting|translat\w*|documentation|docs|readme|changelog|content",
    Category.BUSINESS: r"marketing|seo|sales|crm|finance|financial|stocks?|legal|contracts?|hr|hiring|ecommerce|ads?",
    Category.DEVELOPMENT: r"code|coding|git|github|refactor\w*|debug\w*|api|\w+script|python|rust|react|commits?",
    Category.PRODUCTIVITY: r"calendar|e-?mails?|notes?|notion|slack|todo|tasks?|meetings?|schedul\w*|workflow\w*",
}
_PATTERNS = {category: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for category, words in _WORDS.items()}
_KNOWN = frozenset(category.value for category in Category)
_MAX_DESCRIPTION = 2_000


def category_of(declared: str | None, name: str, description: str) -> Category:
    """Return the declared category if it is valid; else the first that matches the name; else the one with the most
    matches in the description.
    """
    normalised = (declared or "").strip().lower()
    if normalised in _KNOWN:
        return Category(normalised)
    title = re.sub(r"[-_/]", " ", name)
    by_name = next((category for category, pattern in _PATTERNS.items() if pattern.search(title)), None)
    if by_name is not None:
        return by_name
    text = description[:_MAX_DESCRIPTION]
    votes = {category: len(pattern.findall(text)) for category, pattern in _PATTERNS.items()}
    best = max(votes, key=lambda category: votes[category])
    return best if votes[best] else Category.OTHER
