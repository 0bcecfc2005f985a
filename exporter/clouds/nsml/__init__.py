"""NAVER Cloud, CLOVA NSML."""
